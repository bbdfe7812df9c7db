"""Bound the error that rounding explains."""

from dataclasses import dataclass

import torch
from torch import Tensor

from agentprim.rope.compare import state_error
from agentprim.rope.forward import Trace

SHAKE = 2**16  # distance whose rounding of angles `shake` imitates
_EPS = 2.0**-24  # relative error of a fp32 product, so of an angle as Hugging Face computes it
_CAP = 0.1  # noise above it would hide any fault


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How far off keys may be, and what a layer makes of its input.

    Attributes:
        rounding: 1e-4, or 4 units of a low-precision dtype.
        shaken: What angles off by the rounding of `SHAKE` positions do to each state.
        num_ids: Length of the probe.
    """

    rounding: float
    shaken: tuple[float, ...]
    num_ids: int

    def keys(self, delta: int, inv_freq: Tensor) -> float:
        """Return the relative error allowed to keys: twice that of the model's own angles.

        Those are off by up to `position * inv_freq * 2^-24` radians.
        """
        fastest = float(inv_freq.abs().max()) if len(inv_freq) else 0.0
        return max(self.rounding, 2 * (delta + self.num_ids) * fastest * _EPS)

    def state(self, index: int, delta: int) -> float:
        """Return the relative error allowed to a state: twice what keys and angles explain."""
        angles = (delta + self.num_ids) * self.shaken[index] / SHAKE
        return 2 * max(self.rounding, angles)


def measure(base: Trace, shaken: Trace) -> Budget:
    """Measure how a model amplifies the rounding of its own angles.

    Args:
        base: The ids at `0..`.
        shaken: At `0..` too, with tables off by `shake`, base replayed. Nothing has moved, so no
            fault of the model is taken for noise.
    """
    pairs = zip(shaken.states, base.states, strict=True)
    return Budget(
        rounding=max(1e-4, 4 * torch.finfo(base.keys[0].dtype).eps),
        shaken=tuple(min(_CAP, state_error(*pair)) for pair in pairs),
        num_ids=base.keys[0].shape[2],
    )
