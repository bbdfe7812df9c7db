"""Measure how well moved keys agree with keys computed in their new place."""

import torch
from torch import Tensor

from agentprim.rope.spec import LayerRope
from agentprim_kernels import rotation
from agentprim_kernels.reference.turn import turn


def move(keys: Tensor, rope: LayerRope, delta: int) -> Tensor:
    """Relocate keys `[..., num_tokens, k_dim]` by `delta` positions, in fp64.

    Returns:
        fp64, shape of `keys`.
    """
    rows = rotation([delta], rope.inv_freq[None].to(keys.device))  # [1, 1, 2, rotary_dim / 2]
    return turn(keys.double(), rows[0, 0, 0], rows[0, 0, 1], interleaved=rope.interleaved)


def relative_error(actual: Tensor, expected: Tensor, rope: LayerRope | None = None) -> float:
    """Return the root mean square over pairs of dims of each pair's own relative error.

    Each pair counts alike: a few dims of large bias, common in trained keys, hide nothing.

    Args:
        actual: `[1, num_heads, num_tokens, dim]`.
        expected: The same.
        rope: Says which dims form a pair; None compares dim by dim.
    """
    actual, expected = actual.double(), expected.double()
    wrong = _by_pair((actual - expected).square().sum((0, 2)), rope)
    right = _by_pair(expected.square().sum((0, 2)), rope)
    floor = 1e-4 * right.mean() + 1e-30  # a dead dim has no relative error
    return float((wrong / right.clamp_min(floor)).mean().sqrt())


def _by_pair(squares: Tensor, rope: LayerRope | None) -> Tensor:
    """Sum `[num_heads, dim]` over the two dims of each pair; dims that do not turn stay single."""
    width = rope.rotary_dim if rope else 0
    turned, rest = squares[:, :width], squares[:, width:]
    split = (width // 2, 2) if rope and rope.interleaved else (2, width // 2)
    pairs = turned.unflatten(1, split).sum(-1 if rope and rope.interleaved else 1)
    return torch.cat((pairs, rest), dim=1)
