"""Bound the error that rounding explains, measured on the model itself."""

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
        noise: Allowed to each state of a trace for a low-precision dtype alone, 0 for fp32.
        shaken: What angles off by the rounding of `SHAKE` positions do to each state.
        num_ids: Length of the probe.
    """

    rounding: float
    noise: tuple[float, ...]
    shaken: tuple[float, ...]
    num_ids: int

    def keys(self, delta: int, inv_freq: Tensor) -> float:
        """Return the relative error allowed to keys: twice that of the model's own angles.

        Those are off by up to `position * inv_freq * 2^-24` radians.
        """
        fastest = float(inv_freq.max()) if len(inv_freq) else 0.0
        return max(self.rounding, 2 * (delta + self.num_ids) * fastest * _EPS)

    def state(self, index: int, delta: int) -> float:
        """Return the relative error allowed to a state, twice what its own angles explain."""
        angles = 2 * (delta + self.num_ids) * self.shaken[index] / SHAKE
        return max(self.rounding, angles) + self.noise[index]


def measure(base: Trace, shaken: Trace) -> Budget:
    """Measure a model's own noise.

    Args:
        base: The ids at `0..`.
        shaken: At `0..` too, with tables off by `shake`, base replayed. Nothing has moved, so no
            fault of the model is taken for noise. To a low-precision dtype the shake is about one
            unit of cos and sin, which makes all of its roundings fall anew.
    """
    info = torch.finfo(base.keys[0].dtype)
    swing = [min(_CAP, state_error(*x)) for x in zip(shaken.states, base.states, strict=True)]
    return Budget(
        rounding=max(1e-4, 4 * info.eps),
        noise=tuple(3 * value if info.bits < 32 else 0.0 for value in swing),
        shaken=tuple(swing),
        num_ids=base.keys[0].shape[2],
    )
