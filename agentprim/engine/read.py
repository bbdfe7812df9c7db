"""Read tokens behind KVs: one forward pass over a ragged batch, padded at the left."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from agentprim.cache.batch import Batch
from agentprim.cache.hf import PagedCache
from agentprim.cache.kv import KV
from agentprim.cache.rewrite import pad_left
from agentprim.engine.load import cache_name

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine


@torch.no_grad()
def read(engine: "Engine", ids: list[list[int]], kvs: list[KV]) -> tuple[list[KV], list[Tensor]]:
    """Run ids behind KVs and keep them.

    Returns:
        For each row a new KV, and the last hidden states of its new tokens `[len(ids), d]`.
    """
    cache = PagedCache(engine.model, kv=kvs, absolute=True)
    output = forward(engine, engine.model.base_model, cache, ids, kvs)
    states = [output[0][row, -len(part) :] for row, part in enumerate(ids)]
    found = [cache.kv(row) for row in range(len(ids))]
    for one, state in zip(found, states, strict=True):
        one.hidden = state[-1].clone()
    return found, states


def forward(
    engine: "Engine",
    module: nn.Module,
    cache: PagedCache,
    ids: list[list[int]],
    kvs: list[KV],
    position_ids: Sequence[int] | None = None,
):
    """Run ids of each row through a module, at current positions behind its KV."""
    held, new = [len(kv) for kv in kvs], [len(part) for part in ids]
    tokens = torch.full((len(ids), max(new)), engine.pad_id)
    positions = torch.zeros_like(tokens)
    for row, (part, kv) in enumerate(zip(ids, kvs, strict=True)):
        start = kv.next_position
        where = range(start, start + len(part)) if position_ids is None else position_ids
        tokens[row, -len(part) :] = torch.tensor(part)
        positions[row, -len(part) :] = torch.tensor(list(where))
    return module(
        input_ids=tokens.to(engine.device),
        attention_mask=mask(held, new).to(engine.device),
        position_ids=positions.to(engine.device),
        use_cache=True,
        **{cache_name(module): cache},
    )


def run_planned(
    engine: "Engine", batch: Batch, kvs: list[KV], ids: list[list[int]], positions: list[list[int]]
):
    """Run the base model over a batch whose pass is planned already, padded at the left.

    Args:
        engine: The model.
        batch: The pass, such as `Rewrite` or `Pack`.
        kvs: What its rows hold.
        ids: Tokens of each line.
        positions: Current position of each.
    """
    base, counts = engine.model.base_model, [len(line) for line in ids]
    cache = PagedCache(engine.model, kv=kvs, absolute=True)
    cache.batch = batch
    return base(
        input_ids=pad_left(ids, max(counts), engine.pad_id).to(engine.device),
        attention_mask=mask([0] * len(counts), counts).to(engine.device),
        position_ids=pad_left(positions, max(counts), 0).to(engine.device),
        use_cache=True,
        **{cache_name(base): cache},
    )


@torch.no_grad()
def recompute_last(engine: "Engine", kv: KV) -> Tensor:
    """Run the last token of a KV again where it stands; return its last hidden state."""
    before = kv[:-1]
    cache = PagedCache(engine.model, kv=before, absolute=True)
    at = [kv.spans[-1].stop - 1]
    output = forward(engine, engine.model.base_model, cache, [kv.ids[-1:]], [before], at)
    return output[0][0, -1].clone()


def reach(kvs: Sequence[KV], counts: Iterable[int]) -> int:
    """Return the first position that no row reaches with so many more tokens each."""
    begins = (max(kv.next_position, len(kv)) for kv in kvs)
    return max((a + b for a, b in zip(begins, counts, strict=True)), default=0)


def mask(held: list[int], new: list[int]) -> Tensor:
    """Build a mask, int64 `[batch, most held + most new]`, each row's tokens at the right end."""
    width = max(held) + max(new)
    columns = torch.arange(width)[None]
    first = torch.tensor([width - a - b for a, b in zip(held, new, strict=True)])
    return (columns >= first[:, None]).long()
