"""Refuse by name what a configuration or a cache already shows to be out of reach."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from agentprim.errors import UnsupportedModel
from agentprim.rope.compare import pair_error
from agentprim.rope.discover import settings, text_config
from agentprim.rope.forward import Trace
from agentprim.rope.judge import Verdict
from agentprim.rope.spec import LayerRope

_MOVABLE = {"attention", "full_attention", "sliding_attention", "chunked_attention"}
_STATELESS = {"mlp", "moe", "dense", "sparse"}  # feed-forward layers that stand in the same list
_RECURRENT = ("linear", "mamba", "conv", "recurrent", "hybrid", "rwkv", "lstm")
_STATES = ("state", "cache_params")  # arguments that take a recurrent state
_INDEXED = ("index", "sparse", "compress")


def refuse_by_config(model: nn.Module) -> None:
    """Refuse features that keys alone do not betray.

    Raises:
        UnsupportedModel: Encoder-decoders, ALiBi, layers with another state.
    """
    name, config = type(model).__name__, text_config(model)
    if getattr(model.config, "is_encoder_decoder", False):
        raise UnsupportedModel.because(name, "an encoder", "its cache holds keys of two texts")
    said = [value for key, value in settings(config) if "alibi" in key]
    makes = any("alibi" in attribute for attribute in dir(type(model.base_model)))
    if True in said or (makes and False not in said):
        raise UnsupportedModel.because(
            name, "ALiBi", "its bias counts columns of the cache, not positions"
        )
    names = ("layer_types", "layers_block_type")
    found = {str(t) for key in names for t in getattr(config, key, None) or ()}
    others = sorted(found - _MOVABLE - _STATELESS)
    if others:
        raise UnsupportedModel.because(name, f"layers of type {', '.join(others)}", _why(others))
    takes = inspect.signature(inspect.unwrap(model.forward)).parameters
    if held := [word for word in _STATES if word in takes]:
        raise UnsupportedModel.because(
            name, "a recurrent state", f"{held[0]} is one sum over all tokens and has no positions"
        )


def _why(types: Sequence[str]) -> str:
    """Say what layers of other types keep."""
    if any(word in kind for kind in types for word in _RECURRENT):
        return "they keep a recurrent state, one sum over all tokens, which has no positions"
    if any(word in kind for kind in types for word in _INDEXED):
        return "beside keys and values they keep an index or summary of the keys, tied to positions"
    return "they keep a state other than keys"


@contextmanager
def refusing(name: str, feature: str, reason: str) -> Iterator[None]:
    """Turn what a foreign forward pass raises into a refusal; memory that runs out stays itself.

    Raises:
        UnsupportedModel: Anything else was raised inside.
    """
    try:
        yield
    except (UnsupportedModel, torch.OutOfMemoryError):
        raise
    except (
        ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError,
        ValueError,
    ) as error:  # fmt: skip
        said = " ".join(str(error).split())
        raise UnsupportedModel.because(name, feature, f"{reason} ({said})") from error


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
            if shape is None:
                raise UnsupportedModel.because(
                    name, f"no keys in layer {index}",
                    "that layer attends to something else than the text, or keeps another state",
                )  # fmt: skip
            if len(shape) != 4 or (shape[0], shape[2]) != (1, num_ids):
                raise UnsupportedModel.because(
                    name, f"a cache entry of shape {shape} in layer {index}",
                    f"it must be [1, heads, {num_ids}, dim]",
                )  # fmt: skip


def refuse_absolute(name: str, base: Trace, near: Trace) -> None:
    """Refuse a model whose first layer already sees where a token stands.

    Raises:
        UnsupportedModel: Both tensors of layer 0 differ between two places: one must be the same
            bytes, up to how a device orders its sums.
    """
    still = LayerRope.none()
    pairs = ((near.values[0], base.values[0]), (near.keys[0], base.keys[0]))
    errors = [pair_error(*pair, still) for pair in pairs]
    if not min(errors) <= 1e-4:
        raise UnsupportedModel.because(
            name, "absolute positions",
            f"values of layer 0 differ by {errors[0]:.1e} after a move by 1",
        )  # fmt: skip


def refuse_unexplained(
    model: nn.Module, feature: str, layers: Sequence[LayerRope], verdict: Verdict
) -> None:
    """Refuse a model whose keys no table of its own explains, or whose keys have no positions.

    Raises:
        UnsupportedModel: The verdict names a fault, or no layer turns its keys.
    """
    name = type(model).__name__
    if verdict.fault is not None:
        raise UnsupportedModel.because(name, feature, verdict.fault)
    if not any(layer.rotary_dim for layer in layers):
        by_column = [n for n, _ in model.named_modules() if "pos" in n and "emb" in n]
        if by_column:
            raise UnsupportedModel.because(
                name, "positions by column",
                f"its keys do not follow position_ids, and {by_column[-1]} counts what is cached",
            )  # fmt: skip
        raise UnsupportedModel.because(
            name, "no rotary positions", "its keys do not follow position_ids"
        )
