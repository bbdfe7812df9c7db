"""Run a model over a few ids at chosen positions, and leave it as it was found."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from agentprim.rope.discover import rotary_modules


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """What one prefill left behind.

    Attributes:
        keys: Of each layer of the cache, `[1, num_kv_heads, num_ids, k_dim]`, after RoPE.
        values: The same with `v_dim`.
        output: Logits of the last id, or hidden states of a model without a head, `[1, 1, 1, size]`.
    """

    keys: list[Tensor | None]
    values: list[Tensor | None]
    output: Tensor


def probe_ids(model: nn.Module, count: int = 8) -> Tensor:
    """Choose distinct ids away from both ends of the vocabulary, where special tokens sit.

    Returns:
        int64 `[1, count]` on the device of the embedding.
    """
    embedding = model.get_input_embeddings().weight
    vocabulary = embedding.shape[0]
    ids = vocabulary // 4 + torch.arange(count) * max(1, vocabulary // (2 * count))
    return (ids % vocabulary)[None].to(embedding.device)


def prefill(model: nn.Module, ids: Tensor, start: int) -> Trace:
    """Prefill ids at positions `start, start + 1, ...` into an empty cache that keeps everything.

    Args:
        model: A causal language model of Hugging Face.
        ids: int64 `[1, num_ids]`.
        start: Position of the first id.
    """
    from transformers import DynamicCache

    cache = DynamicCache()  # without a configuration: sliding layers keep every key
    names = inspect.signature(model.forward).parameters
    options: dict[str, object] = {"cache" if "cache" in names else "past_key_values": cache}
    if "logits_to_keep" in names:
        options["logits_to_keep"] = 1
    output = model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        position_ids=start + torch.arange(ids.shape[1], device=ids.device)[None],
        use_cache=True,
        return_dict=True,
        **options,
    )
    return Trace(
        keys=[getattr(layer, "keys", None) for layer in cache.layers],
        values=[getattr(layer, "values", None) for layer in cache.layers],
        output=output[0][:, None, -1:],
    )


def shake(model: nn.Module, distance: int) -> None:
    """Put every table off by as much as fp32 angles are off at `distance`.

    Relative to the few positions of a probe, with alternating signs. Modified; use it inside
    `undisturbed`.
    """
    size = distance * 2.0**-24 / 4
    for module in rotary_modules(model):
        for name, table in module._buffers.items():
            if name.endswith("inv_freq"):
                signs = 1 - 2 * (torch.arange(table.shape[-1], device=table.device) % 2)
                table.mul_(1 + size * signs)


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Run without gradients in eval mode, then restore modes and every rotary module.

    Some rotary modules replace or overwrite their tables when a position crosses a length.
    """
    modes = [(module, module.training) for module in model.modules()]
    kept = [(module, *_state(module)) for module in rotary_modules(model)]
    try:
        model.eval()
        with torch.no_grad():
            yield
    finally:
        for module, attributes, buffers, contents in kept:
            _restore(module, attributes, buffers, contents)
        for module, training in modes:
            module.training = training


def _state(module: nn.Module) -> tuple[dict, dict, dict[str, Tensor]]:
    attributes = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    buffers = dict(module._buffers)
    contents = {name: value.clone() for name, value in buffers.items() if value is not None}
    return attributes, buffers, contents


def _restore(module: nn.Module, attributes: dict, buffers: dict, contents: dict) -> None:
    for key in [key for key in vars(module) if not key.startswith("_") and key not in attributes]:
        del vars(module)[key]
    vars(module).update(attributes)
    module._buffers.clear()
    module._buffers.update(buffers)
    with torch.no_grad():
        for name, content in contents.items():
            if not torch.equal(module._buffers[name], content):
                module._buffers[name].copy_(content)
