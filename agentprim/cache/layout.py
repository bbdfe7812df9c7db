"""What a model stores in its cache, layer by layer, and whether its keys may move."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from agentprim.cache.span import Span, side_of
from agentprim.errors import UnsupportedModel
from agentprim.rope import LayerRope, RopeProof


@dataclass(frozen=True, kw_only=True)
class LayerShape:
    """Shape of one layer's cache, as the model itself wrote it.

    Attributes:
        num_kv_heads: Heads of keys and values.
        k_dim: Size of a key.
        v_dim: Size of a value.
        dtype: Of both.
        device: Of both.
    """

    num_kv_heads: int
    k_dim: int
    v_dim: int
    dtype: torch.dtype
    device: torch.device


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Cache shapes of a model with what is proved about its positions.

    Attributes:
        model_class: Class name, for messages.
        shapes: One per layer.
        rope: The proof, or None where the model was refused.
        refusal: Why it was refused; raised when somebody tries to move its keys.
        spans: Whether attention can read spans (the handle reaches it); else the dense path.
        window: Fewest columns that a layer sees, None where all layers see everything.
        joined: Whether a joined cache was held to one forward pass with a mask: `"measured"`, or
            why it was not.
    """

    model_class: str
    shapes: tuple[LayerShape, ...]
    rope: RopeProof | None
    refusal: UnsupportedModel | None
    spans: bool
    window: int | None = None
    joined: str = "not measured: its keys are not moved"

    def layer_rope(self, layer: int, side: int = 0) -> LayerRope:
        """Return how a layer turns its keys; no rotation where nothing is proved."""
        return self.rope.on(side).layers[layer] if self.rope else LayerRope.none()

    def stored_shape(self, layer: int) -> LayerShape:
        """Return the shape in pages, where what turns comes first."""
        shape = self.shapes[layer]
        k_dim, v_dim = self.layer_rope(layer).order(shape.k_dim, shape.v_dim)
        return replace(shape, k_dim=k_dim, v_dim=v_dim)

    @property
    def switch(self) -> int | None:
        """Position from which a pass turns all its keys by other tables, None for most models."""
        return self.rope.switch if self.rope else None

    def require(
        self, delta: int, *, first: int | None = None, last: int | None = None, side: int = 0
    ) -> None:
        """Check that keys computed at positions `first..last` may move by `delta`.

        Raises:
            UnsupportedModel: The model was refused, or nothing is proved that far.
        """
        if delta == 0:
            return
        if self.rope is None:
            # a fresh one: a stored exception would keep every frame that it went through
            raise UnsupportedModel(*self.refusal.args)
        self.rope.on(side).require(delta, first=first, last=last)

    def require_spans(self, spans: Iterable[Span]) -> None:
        """Check that spans may stand where they are, and beside each other.

        Raises:
            UnsupportedModel: As `require`.
        """
        spans = list(spans)
        for span in spans:
            if span.side != spans[0].side:
                self.rope.require_side(span.side, spans[0].side)
        for span in spans:
            last = span.stop - 1 - span.delta
            self.require(span.delta, first=span.position, last=last, side=span.side)

    def require_end(self, spans: Sequence[Span]) -> None:
        """Check that the next pass behind spans, which stand alone, is on their side.

        Raises:
            UnsupportedModel: They come from beyond a switch and end below it.
        """
        if side_of(spans) and max(span.stop for span in spans) < self.switch:
            self.rope.require_side(0, 1)

    def side(self, last: int, held: Iterable[int]) -> int:
        """Return the side of a pass whose farthest token the model counts at `last`.

        Args:
            last: The farthest of all rows, padding included: it decides for all of them.
            held: Sides of the keys that the pass sees.

        Raises:
            UnsupportedModel: They were computed on another.
        """
        if self.switch is None:
            return 0
        side = self.rope.side_of(last)
        for other in held:
            self.rope.require_side(side, other)
        return side

    def require_reach(self, last: int, side: int = 0) -> None:
        """Check that tokens may be added at positions up to `last` behind moved keys.

        Raises:
            UnsupportedModel: The place is beyond what is proved.
        """
        if self.rope is not None:
            self.rope.on(side).require(1, first=last - 1, last=last - 1)

    def __str__(self) -> str:
        """Name the model and its dtype, for messages."""
        return f"{self.model_class} ({str(self.shapes[0].dtype).removeprefix('torch.')})"
