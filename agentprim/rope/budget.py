"""Bound the error that rounding explains, measured on the model itself."""

from dataclasses import dataclass

import torch
from torch import Tensor

from agentprim.rope.compare import relative_error
from agentprim.rope.forward import Trace

SHAKE = 2**16  # distance whose rounding of angles `shake` imitates
_EPS = 2.0**-24  # relative error of a fp32 product, so of an angle as Hugging Face computes it
_CAP = 0.25  # noise above it would hide any fault


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How far off each layer may be; one entry per layer, the output's last.

    Attributes:
        rounding: 1e-4, or 4 units of a low-precision dtype.
        noise: What the dtype alone does to the input of a layer.
        shaken: What angles off by the rounding of `SHAKE` positions do to a layer.
        num_ids: Length of the probe.
    """

    rounding: float
    noise: tuple[float, ...]
    shaken: tuple[float, ...]
    num_ids: int

    def allow(self, index: int, delta: int, inv_freq: Tensor) -> float:
        """Return the relative error allowed to a layer whose fastest pair is known.

        A model's own angles are off by up to `position * inv_freq * 2^-24` radians. Twice that is
        allowed, at its own keys and as it has travelled through the layers below.
        """
        position = delta + self.num_ids
        fastest = float(inv_freq.max()) if len(inv_freq) else 0.0
        angles = 2 * position * max(fastest * _EPS, self.shaken[index] / SHAKE)
        return max(self.rounding, angles) + self.noise[index]


def measure(base: Trace, near: Trace, shaken: Trace) -> Budget:
    """Measure a model's own noise.

    Args:
        base: The ids at `0..`.
        near: At `1..`. Values carry no rotation: what they differ by is rounding that has travelled
            through the layers below. Layer 0 sees the same input anywhere.
        shaken: At `0..` with tables off by `shake`.
    """
    info = torch.finfo(base.keys[0].dtype)
    low = info.bits < 32
    noise = [3 * relative_error(*pair) if low else 0.0 for pair in _inputs(base, near)]
    swing = [
        max(relative_error(*values), relative_error(*keys))
        for values, keys in zip(_inputs(base, shaken), _outputs(base, shaken), strict=True)
    ]
    return Budget(
        rounding=max(1e-4, 4 * info.eps),
        noise=(0.0, *(min(_CAP, value) for value in noise[1:])),
        shaken=tuple(min(_CAP, value) for value in swing),
        num_ids=base.keys[0].shape[2],
    )


def _inputs(base: Trace, other: Trace) -> list[tuple[Tensor, Tensor]]:
    return [*zip(other.values, base.values, strict=True), (other.output, base.output)]


def _outputs(base: Trace, other: Trace) -> list[tuple[Tensor, Tensor]]:
    return [*zip(other.keys, base.keys, strict=True), (other.output, base.output)]
