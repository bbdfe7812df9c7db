"""Run a model over a few ids at chosen positions."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import torch
from torch import Tensor, nn

from agentprim.errors import UnsupportedModel
from agentprim.rope.discover import text_config
from agentprim.rope.spec import LayerRope


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """What one prefill left behind.

    Attributes:
        keys: Of each layer of the cache, `[1, num_kv_heads, num_ids, k_dim]`, after RoPE.
        values: The same with `v_dim`.
        states: What arrived at each call of a layer after the first, and the output of the model
            last; `[..., num_ids or 1, size]`. A model may call a layer more than once.
        inputs: What each of those calls then read: the same, or what was replayed.
    """

    keys: list[Tensor | None]
    values: list[Tensor | None]
    states: list[Tensor]
    inputs: list[Tensor]

    def pair(self, index: int, rope: LayerRope) -> tuple[Tensor, Tensor]:
        """Return what turns in a layer of the cache and what stays, under one reading of it."""
        return rope.order(self.keys[index], self.values[index])

    def first(self) -> "Trace":
        """Return what the first row left behind."""
        return Trace(**{name: [x[:1] for x in kept] for name, kept in vars(self).items()})


def probe_ids(model: nn.Module, num_ids: int = 8) -> Tensor:
    """Choose distinct ids away from both ends of the vocabulary, where special tokens sit.

    Returns:
        int64 `[1, num_ids]` on the device of the embedding.

    Raises:
        UnsupportedModel: A token of this model is not one id.
    """
    embedding = getattr(model.get_input_embeddings(), "weight", None)
    if embedding is None:
        raise UnsupportedModel.because(
            type(model).__name__, "several ids a token", "it has no single table of embeddings"
        )
    vocabulary = embedding.shape[0]
    ids = vocabulary // 4 + torch.arange(num_ids) * max(1, vocabulary // (2 * num_ids))
    return (ids % vocabulary)[None].to(embedding.device)


def prefill(
    model: nn.Module,
    ids: Tensor,
    start: int,
    *,
    replay: Trace | None = None,
    beside: int | None = None,
) -> Trace:
    """Prefill ids at positions `start, start + 1, ...` into an empty cache that keeps everything.

    Args:
        model: A causal language model of Hugging Face.
        ids: int64 `[1, num_ids]`.
        start: Position of the first id.
        replay: Gives every call of a layer but the first the input that it had there, so that
            rounding does not travel and each layer is judged alone, in any dtype.
        beside: Position of the last id of a second row with the same ids, which leaves no trace:
            a model may place all tokens of a pass by the farthest of them.
    """
    from transformers import DynamicCache

    cache = DynamicCache()  # without a configuration: sliding layers keep every key
    names = inspect.signature(model.forward).parameters
    options: dict[str, object] = {"cache" if "cache" in names else "past_key_values": cache}
    if "logits_to_keep" in names:
        options["logits_to_keep"] = 1
    layers = _layers(model)
    positions = start + torch.arange(ids.shape[1], device=ids.device)[None]
    if beside is not None:
        positions = torch.cat((positions, positions - positions[0, -1] + beside))
    ids = ids.expand(len(positions), -1)
    with _tapped(layers, replay, len(positions)) as (states, inputs):
        output = model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            position_ids=positions,
            use_cache=True,
            return_dict=True,
            **options,
        )
    if not inputs or (replay and len(inputs) != len(replay.inputs)):
        raise _unseen(model)
    trace = Trace(
        keys=[getattr(layer, "keys", None) for layer in cache.layers],
        values=[getattr(layer, "values", None) for layer in cache.layers],
        states=[*states, output[0][:, -1:]],
        inputs=inputs,
    )
    return trace if beside is None else trace.first()


@contextmanager
def _tapped(
    layers: Sequence[nn.Module], replay: Trace | None, rows: int
) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """Record what arrives at each call of a layer but the first; replace it by what is replayed."""
    states: list[Tensor] = []
    inputs: list[Tensor] = []
    calls = count()

    def tap(_: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        if not next(calls):
            return None
        arrived = args[0] if args else kwargs["hidden_states"]
        read = replay.inputs[len(inputs)] if replay else arrived
        if replay and rows > 1:
            read = torch.cat([read] * rows)
        states.append(arrived)
        inputs.append(read)
        return ((read, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": read})

    hooks = [layer.register_forward_pre_hook(tap, with_kwargs=True) for layer in layers]
    try:
        yield states, inputs
    finally:
        for hook in hooks:
            hook.remove()


def _layers(model: nn.Module) -> list[nn.Module]:
    """Find the layers: the lists that are as long as configured, else all stacks of the decoder.

    A list that a text does not pass through, as of an image encoder, does no harm.
    """
    length = getattr(text_config(model), "num_hidden_layers", None)
    for root in (model.get_decoder(), model.base_model):
        lists = [module for module in root.modules() if isinstance(module, nn.ModuleList)]
        named = [layer for stack in lists if len(stack) == length for layer in stack]
        if named:
            return named
    inner = {id(part) for stack in lists for layer in stack for part in layer.modules()}
    outer = [layer for stack in lists if id(stack) not in inner for layer in stack]
    if not outer:
        raise _unseen(model)
    return outer


def _unseen(model: nn.Module) -> UnsupportedModel:
    return UnsupportedModel.because(
        type(model).__name__, "no plain stack of layers", "the probe cannot judge them one by one"
    )
