"""Run a model over a few ids at chosen positions."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from agentprim.errors import UnsupportedModel
from agentprim.rope.discover import text_config


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """What one prefill left behind.

    Attributes:
        keys: Of each layer of the cache, `[1, num_kv_heads, num_ids, k_dim]`, after RoPE.
        values: The same with `v_dim`.
        states: What arrived at each layer after the first, and the output of the model last;
            `[..., num_ids or 1, size]`.
        inputs: What each layer then read: the same, or what was replayed.
    """

    keys: list[Tensor | None]
    values: list[Tensor | None]
    states: list[Tensor]
    inputs: list[Tensor]


def probe_ids(model: nn.Module, count: int = 8) -> Tensor:
    """Choose distinct ids away from both ends of the vocabulary, where special tokens sit.

    Returns:
        int64 `[1, count]` on the device of the embedding.
    """
    embedding = model.get_input_embeddings().weight
    vocabulary = embedding.shape[0]
    ids = vocabulary // 4 + torch.arange(count) * max(1, vocabulary // (2 * count))
    return (ids % vocabulary)[None].to(embedding.device)


def prefill(model: nn.Module, ids: Tensor, start: int, *, replay: Trace | None = None) -> Trace:
    """Prefill ids at positions `start, start + 1, ...` into an empty cache that keeps everything.

    Args:
        model: A causal language model of Hugging Face.
        ids: int64 `[1, num_ids]`.
        start: Position of the first id.
        replay: Gives every layer but the first the input that it had there, so that rounding does
            not travel and each layer is judged alone, in any dtype.
    """
    from transformers import DynamicCache

    cache = DynamicCache()  # without a configuration: sliding layers keep every key
    names = inspect.signature(model.forward).parameters
    options: dict[str, object] = {"cache" if "cache" in names else "past_key_values": cache}
    if "logits_to_keep" in names:
        options["logits_to_keep"] = 1
    layers = _layers(model)
    with _tapped(layers[1:], replay) as (states, inputs):
        output = model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            position_ids=start + torch.arange(ids.shape[1], device=ids.device)[None],
            use_cache=True,
            return_dict=True,
            **options,
        )
    if len(inputs) != len(layers) - 1:
        raise _unseen(model)
    return Trace(
        keys=[getattr(layer, "keys", None) for layer in cache.layers],
        values=[getattr(layer, "values", None) for layer in cache.layers],
        states=[*states, output[0][:, -1:]],
        inputs=inputs,
    )


@contextmanager
def _tapped(layers: nn.ModuleList, replay: Trace | None) -> Iterator[tuple[list, list]]:
    """Record what arrives at each layer, and replace it by what is replayed."""
    states: list[Tensor] = []
    inputs: list[Tensor] = []

    def tap(_: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        arrived = args[0] if args else kwargs["hidden_states"]
        read = replay.inputs[len(inputs)] if replay else arrived
        states.append(arrived)
        inputs.append(read)
        return ((read, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": read})

    hooks = [layer.register_forward_pre_hook(tap, with_kwargs=True) for layer in layers]
    try:
        yield states, inputs
    finally:
        for hook in hooks:
            hook.remove()


def _layers(model: nn.Module) -> nn.ModuleList:
    """Find the stack of layers: the list of the decoder that is as long as configured."""
    count = text_config(model).num_hidden_layers
    for module in model.get_decoder().modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return module
    raise _unseen(model)


def _unseen(model: nn.Module) -> UnsupportedModel:
    return UnsupportedModel.because(
        type(model).__name__, "no plain stack of layers", "the probe cannot judge them one by one"
    )
