"""Refuse by name what a configuration or a cache already shows to be out of reach."""

from collections.abc import Sequence

from torch import nn

from agentprim.errors import UnsupportedModel
from agentprim.rope.compare import pair_error
from agentprim.rope.discover import settings, text_config
from agentprim.rope.forward import Trace
from agentprim.rope.judge import Verdict
from agentprim.rope.spec import LayerRope

_MOVABLE = {"attention", "full_attention", "sliding_attention", "chunked_attention"}


def refuse_by_config(model: nn.Module) -> None:
    """Refuse features that keys alone do not betray.

    Raises:
        UnsupportedModel: Encoder-decoders, ALiBi, latent attention, layers with another state.
    """
    name, config = type(model).__name__, text_config(model)
    if getattr(model.config, "is_encoder_decoder", False):
        raise UnsupportedModel.because(name, "an encoder", "its cache holds keys of two texts")
    if any("alibi" in key and value is True for key, value in settings(config)):
        raise UnsupportedModel.because(
            name, "ALiBi", "its bias counts columns of the cache, not positions"
        )
    if getattr(config, "kv_lora_rank", None):
        raise UnsupportedModel.because(
            name, "latent attention", "its cache holds latents beside a slice of rotated keys"
        )
    names = ("layer_types", "layers_block_type")
    others = sorted({t for key in names for t in getattr(config, key, None) or ()} - _MOVABLE)
    if others:
        raise UnsupportedModel.because(
            name, f"layers of type {', '.join(others)}", "they keep a state other than keys"
        )


def refuse_by_cache(model: nn.Module, trace: Trace, num_ids: int) -> None:
    """Refuse a cache that is not one key and one value tensor `[1, heads, tokens, dim]` a layer.

    Raises:
        UnsupportedModel: The model kept a cache of its own, or tensors of another shape.
    """
    name = type(model).__name__
    if not trace.keys:
        raise UnsupportedModel.because(
            name, "a cache of its own kind", "it left no keys in a DynamicCache"
        )
    for index, pair in enumerate(zip(trace.keys, trace.values, strict=True)):
        for tensor in pair:
            shape = None if tensor is None else tuple(tensor.shape)
            if shape is None or len(shape) != 4 or (shape[0], shape[2]) != (1, num_ids):
                raise UnsupportedModel.because(
                    name, f"a cache entry of shape {shape} in layer {index}",
                    f"it must be [1, heads, {num_ids}, dim]",
                )  # fmt: skip


def refuse_absolute(name: str, base: Trace, near: Trace) -> None:
    """Refuse a model whose first layer already sees where a token stands.

    Raises:
        UnsupportedModel: Values of layer 0 differ between two places: they must be the same bytes,
            up to how a device orders its sums.
    """
    error = pair_error(near.values[0], base.values[0], LayerRope.none())
    if not error <= 1e-4:
        raise UnsupportedModel.because(
            name, "absolute positions", f"values of layer 0 differ by {error:.1e} after a move by 1"
        )


def refuse_unexplained(
    name: str, feature: str, layers: Sequence[LayerRope], verdict: Verdict
) -> None:
    """Refuse a model whose keys no table of its own explains, or whose keys have no positions.

    Raises:
        UnsupportedModel: The verdict names a fault, or no layer turns its keys.
    """
    if verdict.fault is not None:
        raise UnsupportedModel.because(name, feature, verdict.fault)
    if not any(layer.rotary_dim for layer in layers):
        raise UnsupportedModel.because(
            name, "no rotary positions", "its keys do not follow position_ids"
        )
