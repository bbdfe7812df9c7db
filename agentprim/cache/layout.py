"""What a model stores in its cache, layer by layer, and whether its keys may move."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch

from agentprim.cache.span import Span
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

    def layer_rope(self, layer: int) -> LayerRope:
        """Return how a layer turns its keys; no rotation where nothing is proved."""
        return self.rope.layers[layer] if self.rope else LayerRope.none()

    def stored_shape(self, layer: int) -> LayerShape:
        """Return the shape in pages, where what turns comes first."""
        shape = self.shapes[layer]
        k_dim, v_dim = self.layer_rope(layer).order(shape.k_dim, shape.v_dim)
        return replace(shape, k_dim=k_dim, v_dim=v_dim)

    def require(self, delta: int, *, first: int | None = None, last: int | None = None) -> None:
        """Check that keys computed at positions `first..last` may move by `delta`.

        Raises:
            UnsupportedModel: The model was refused, or nothing is proved that far.
        """
        if delta == 0:
            return
        if self.rope is None:
            # a fresh one: a stored exception would keep every frame that it went through
            raise UnsupportedModel(*self.refusal.args)
        self.rope.require(delta, first=first, last=last)

    def require_spans(self, spans: Iterable[Span]) -> None:
        """Check that spans may stand where they are.

        Raises:
            UnsupportedModel: As `require`.
        """
        for span in spans:
            self.require(span.delta, first=span.position, last=span.stop - 1 - span.delta)

    def require_reach(self, last: int) -> None:
        """Check that tokens may be added at positions up to `last` behind moved keys.

        Raises:
            UnsupportedModel: The place is beyond what is proved.
        """
        if self.rope is not None:
            self.rope.require(1, first=last - 1, last=last - 1)

    def __str__(self) -> str:
        """Name the model and its dtype, for messages."""
        return f"{self.model_class} ({str(self.shapes[0].dtype).removeprefix('torch.')})"
