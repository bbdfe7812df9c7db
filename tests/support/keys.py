"""Compute keys with a model and move keys with the public op, each by its own road."""

from inspect import signature

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from agentprim.rope import LayerRope
from agentprim_kernels import rotate_, rotation


def compute(
    model: PreTrainedModel, ids: Tensor, start: int
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Prefill `ids` at positions `start..`; return keys and values of each layer, and logits."""
    cache = DynamicCache()
    # transformers 5.24 renamed the argument
    name = "cache" if "cache" in signature(model.forward).parameters else "past_key_values"
    with torch.no_grad():
        output = model(
            ids,
            attention_mask=torch.ones_like(ids),
            position_ids=start + torch.arange(ids.shape[1])[None],
            use_cache=True,
            **{name: cache},
        )
    keys = [layer.keys for layer in cache.layers]
    return keys, [layer.values for layer in cache.layers], output.logits


def relocate(keys: Tensor, rope: LayerRope, delta: int) -> Tensor:
    """Move keys `[1, heads, tokens, dim]`: a dense tensor is a cache of one page."""
    moved = keys[None].clone()
    span = torch.tensor([[0, 0, keys.shape[2], 0, -1]], dtype=torch.int32)
    rows = rotation([delta], rope.inv_freq[None])
    page_table = torch.zeros(1, dtype=torch.int32)
    rotate_(moved, page_table, span, rows, interleaved=rope.interleaved, impl="reference")
    return moved[0]


def token_norms(keys: Tensor) -> Tensor:
    """Return the norm of each key, fp64 `[heads, tokens]`."""
    return keys[0].double().norm(dim=-1)


def some_ids(count: int, *, seed: int = 1) -> Tensor:
    """Draw ids of the tiny vocabulary, `[1, count]`."""
    return torch.randint(3, 97, (1, count), generator=torch.Generator().manual_seed(seed))
