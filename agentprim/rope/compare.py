"""Measure how well moved keys agree with keys computed in their new place."""

import torch
from torch import Tensor

from agentprim.rope.spec import LayerRope
from agentprim_kernels import rotation
from agentprim_kernels.reference.turn import turn


def move(keys: Tensor, rope: LayerRope, delta: int) -> Tensor:
    """Relocate keys `[..., num_tokens, k_dim]` by `delta` positions.

    Returns:
        fp64, shape of `keys`.
    """
    rows = rotation([delta], rope.inv_freq[None].to(keys.device))  # [1, 1, 2, rotary_dim / 2]
    return turn(keys.double(), rows[0, 0, 0], rows[0, 0, 1], interleaved=rope.interleaved)


def pair_error(actual: Tensor, expected: Tensor, rope: LayerRope) -> float:
    """Return the root mean square over pairs of dims of each pair's own relative error.

    Each pair counts alike: a few dims of large bias, common in trained keys, hide nothing.

    Args:
        actual: `[1, num_heads, num_tokens, dim]`.
        expected: The same.
        rope: Says which dims form a pair; those that do not turn stand alone.
    """
    actual, expected = actual.double(), expected.double()
    wrong = _by_pair((actual - expected).square().sum((0, 2)), rope)
    right = _by_pair(expected.square().sum((0, 2)), rope)
    floor = 1e-4 * right.mean() + 1e-30  # a dead dim has no relative error
    return float((wrong / right.clamp_min(floor)).mean().sqrt())


def state_error(actual: Tensor, expected: Tensor) -> float:
    """Return the relative error of the worst token; in low precision of the median one.

    There a router of experts may send single tokens elsewhere by rounding alone.

    Args:
        actual: `[..., num_tokens, size]`.
        expected: The same.
    """
    low = torch.finfo(actual.dtype).bits < 32
    actual, expected = (x.double().movedim(-2, 0).flatten(1) for x in (actual, expected))
    errors = (actual - expected).norm(dim=1) / expected.norm(dim=1).clamp_min(1e-30)
    return float(errors.median() if low else errors.max())


def _by_pair(squares: Tensor, rope: LayerRope) -> Tensor:
    """Sum `[num_heads, dim]` over the two dims of each pair; dims that do not turn stay single."""
    half = rope.rotary_dim // 2
    turned, rest = squares[:, : 2 * half], squares[:, 2 * half :]
    if rope.interleaved:
        pairs = turned[:, 0::2] + turned[:, 1::2]
    else:
        pairs = turned[:, :half] + turned[:, half:]
    return torch.cat((pairs, rest), dim=1)
