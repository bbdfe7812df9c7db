"""Say what a model does to its keys, layer by layer, and how far that was proved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import torch
from torch import Tensor

from agentprim.errors import UnsupportedModel

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerRope:
    """The rotation of one layer's keys: `R(p)` turns pair i by `p * inv_freq[i]` radians.

    Attributes:
        inv_freq: Radians per position as the model's own module holds them, fp32
            `[rotary_dim / 2]` on the CPU; negative where the model turns the other way, empty for
            a layer without RoPE. The module's `attention_scaling` is not in it: that is already
            inside every cached key.
        interleaved: Pairs are `(2i, 2i + 1)` instead of `(i, i + rotary_dim / 2)`.
        in_values: What turns is the second tensor that the model caches, beside a latent in the
            first.
    """

    inv_freq: Tensor
    interleaved: bool
    in_values: bool = False

    @classmethod
    def none(cls) -> Self:
        """Describe a layer whose keys carry no position."""
        return cls(inv_freq=torch.empty(0), interleaved=False)

    @property
    def rotary_dim(self) -> int:
        """Leading dims of a key that turn; 0 for a layer without RoPE."""
        return 2 * len(self.inv_freq)

    def order(self, keys: T, values: T) -> tuple[T, T]:
        """Return what turns, then what stays, of what a model calls keys and values.

        Its own inverse: given what turns and what stays, it returns keys and values.
        """
        return (values, keys) if self.in_values else (keys, values)


@dataclass(frozen=True, kw_only=True, eq=False)
class RopeProof:
    """What the probe established on one model.

    Attributes:
        layers: One entry per layer of the model's cache.
        shapes: `(num_kv_heads, k_dim, v_dim)` of each of those layers.
        max_delta: Largest distance of an unbroken run of proved moves; moves back are the inverse
            of moves forward.
        max_position: Largest current position that a moved key had in that run.
        chunk_size: Chunked attention moves by multiples of it, or within one chunk; else None.
        errors: `(delta, worst relative error of a layer)` for every distance tried, ascending.
        feature: How the model places tokens, for messages: `"RoPE of type dynamic"`.
        model_class: Name of the model's class.
        switch: A forward pass with a token at this position or beyond turns all its keys by other
            tables (LongRoPE); None for a model that always uses the same.
        far: What holds for keys of such passes, whatever their own position.
    """

    layers: tuple[LayerRope, ...]
    shapes: tuple[tuple[int, int, int], ...]
    max_delta: int
    max_position: int
    chunk_size: int | None
    errors: tuple[tuple[int, float], ...]
    feature: str
    model_class: str
    switch: int | None = None
    far: "RopeProof | None" = None

    def side_of(self, last: int) -> int:
        """Return the side on which a pass computes whose farthest token stands at `last`.

        0, or 1 for a pass that reaches the switch.
        """
        return int(self.switch is not None and last >= self.switch)

    def on(self, side: int) -> "RopeProof":
        """Return what holds for keys of one side."""
        return self.far if side else self

    def require_side(self, side: int, held: int) -> None:
        """Refuse keys of one side behind, or beside, cached keys of the other.

        Raises:
            UnsupportedModel: The sides differ.
        """
        if side != held:
            self._refuse(
                f"keys of a forward pass below position {self.switch} do not go with keys of a "
                "pass that reaches it"
            )

    def require(self, delta: int, *, first: int | None = None, last: int | None = None) -> None:
        """Refuse a move that was not proved.

        Args:
            delta: Positions to move by; may be negative. 0 is always allowed.
            first: Position of the first key before the move, if known.
            last: Position of the last key before the move, if known.

        Raises:
            UnsupportedModel: The distance or the place is beyond the proof, or a chunked layer
                would be cut differently.
        """
        if delta == 0:
            return
        if abs(delta) > self.max_delta:
            self._refuse(f"a move by {delta} exceeds {self.max_delta}, the farthest proved")
        place = -1 if last is None else max(last, last + delta)
        if place > self.max_position:
            self._refuse(f"position {place} exceeds {self.max_position}, the farthest proved")
        size = self.chunk_size
        if size is None or delta % size == 0:
            return
        if first is None or last is None or first // size != last // size or (
            (first + delta) // size != (last + delta) // size
        ):  # fmt: skip
            self._refuse(f"a move by {delta} cuts its chunks of {size} positions elsewhere")

    def table(self, indices: Sequence[int]) -> Tensor:
        """Stack `inv_freq` of some layers for the kernels.

        Args:
            indices: Layers that share one `rotary_dim`; those without RoPE may be among them.

        Returns:
            fp32 `[len(indices), rotary_dim / 2]`, a zero row for a layer without RoPE.
        """
        chosen = [self.layers[index] for index in indices]
        widths = {layer.rotary_dim for layer in chosen} - {0}
        if len(widths) > 1 or len({layer.interleaved for layer in chosen if layer.rotary_dim}) > 1:
            raise ValueError(f"indices must have layers of one rotation, got rotary_dim {widths}")
        none = torch.zeros(max(widths, default=0) // 2)
        return torch.stack([layer.inv_freq if layer.rotary_dim else none for layer in chosen])

    def _refuse(self, reason: str) -> None:
        # what does not fit below a switch does not fit there in another order either
        way = {} if self.switch is None else {"way": "prefill again as one text"}
        raise UnsupportedModel.because(self.model_class, self.feature, reason, **way)
