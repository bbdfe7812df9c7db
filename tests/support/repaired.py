"""The repair oracle: chosen tokens computed anew on a dense cache of the others, without pages."""

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from agentprim.engine.load import cache_name
from tests.support.oracle import masks


@torch.no_grad()
def repaired_caches(
    model: nn.Module,
    stored: list[tuple[Tensor, Tensor]],
    ids: list[int],
    positions: list[int],
    chosen: list[int],
) -> list[tuple[Tensor, Tensor]]:
    """Run chosen tokens with all others as a past, each token seeing what is not behind it.

    Args:
        model: An untouched twin of the model under test.
        stored: Keys where they now stand, and values, of each layer `[1, heads, tokens, dim]`.
        ids: Of all tokens.
        positions: Of all tokens.
        chosen: Indices of the tokens that are computed anew.

    Returns:
        Keys and values of each layer, in the order of `ids`.
    """
    others = [i for i in range(len(ids)) if i not in set(chosen)]
    cache = DynamicCache()
    for layer, (keys, values) in enumerate(stored):
        cache.update(keys[:, :, others].clone(), values[:, :, others].clone(), layer)
    at = torch.tensor(positions)
    order = [*others, *chosen]
    _run(model, cache, [ids[i] for i in chosen], at[chosen], at[order])
    back = torch.tensor(order).argsort()
    return [(layer.keys[:, :, back], layer.values[:, :, back]) for layer in cache.layers]


@torch.no_grad()
def query_logits(
    model: nn.Module,
    stored: list[tuple[Tensor, Tensor]],
    positions: list[int],
    query: list[int],
    start: int,
) -> Tensor:
    """Run a query behind dense keys and values; return its logits `[len(query), vocab]`."""
    cache = DynamicCache()
    for layer, (keys, values) in enumerate(stored):
        cache.update(keys.clone(), values.clone(), layer)
    at = start + torch.arange(len(query))
    return _run(model, cache, query, at, torch.cat([torch.tensor(positions), at])).logits[0]


def _run(model, cache, ids: list[int], at: Tensor, keys_at: Tensor):
    seen = keys_at[None, :] <= at[:, None]
    return model(
        input_ids=torch.tensor([ids]), position_ids=at[None], use_cache=True,
        attention_mask=masks(model, seen, at, keys_at), **{cache_name(model): cache},
    )  # fmt: skip
