"""Thinking: latent steps of a batch of rows, each added to its KV as a token without an id."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agentprim.cache.hf import PagedCache
from agentprim.cache.kv import KV
from agentprim.engine.batch import generators, read_seeds
from agentprim.engine.latent import perturb
from agentprim.engine.load import cache_name
from agentprim.engine.read import mask
from agentprim.errors import VerificationFailed

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine


@torch.no_grad()
def think(
    engine: "Engine",
    kvs: list[KV],
    steps: int,
    *,
    settle: float | None,
    spread: float,
    seed,
) -> list[KV]:
    """Take up to `steps` latent steps, at least 1; see `Engine.latent`."""
    seeds = read_seeds(seed, len(kvs))
    hidden = torch.stack([engine.last_hidden(one) for one in kvs])
    positions = torch.tensor([one.next_position for one in kvs], device=engine.device)
    held = [len(one) for one in kvs]
    cache = PagedCache(engine.model, kv=kvs, absolute=True)
    kept: list[tuple[KV, Tensor] | None] = [None] * len(kvs)
    for step in range(steps):
        embedding = engine.realigner(hidden)
        if spread and step == 0:
            embedding = perturb(embedding, spread, generators(seeds, len(kvs)))
        before = hidden
        hidden = _step(engine, cache, embedding, positions + step, [n + step for n in held])
        if settle is None:
            continue
        near = torch.cosine_similarity(before.float(), hidden.float(), dim=-1) >= settle
        for row in near.nonzero()[:, 0].tolist():
            kept[row] = kept[row] or (cache.kv(row), hidden[row])
        if all(kept):
            break
    found = [one or (cache.kv(row), hidden[row]) for row, one in enumerate(kept)]
    if not bool(torch.stack([state for _, state in found]).isfinite().all()):
        raise VerificationFailed(f"latent steps must stay finite, got NaN or inf in {steps} steps")
    for one, state in found:
        one.hidden = state.clone()
    return [one for one, _ in found]


def _step(
    engine: "Engine", cache: PagedCache, embedding: Tensor, positions: Tensor, held: list[int]
) -> Tensor:
    """Feed one embedding a row `[batch, d]`; return the last hidden states of the same shape."""
    dense = not cache.pool.layout.spans  # a dense view needs to be told where shorter rows begin
    base = engine.model.base_model
    return base(
        inputs_embeds=embedding[:, None],
        attention_mask=mask(held, [1] * len(held)).to(engine.device) if dense else None,
        position_ids=positions[:, None],
        use_cache=True,
        **{cache_name(base): cache},
    )[0][:, -1]


def check_steps(steps: int, settle: float | None, spread: float) -> None:
    """Check the numbers of `Engine.latent`.

    Raises:
        ValueError: One is out of range.
    """
    if steps < 0:
        raise ValueError(f"steps must be at least 0, got {steps}")
    if settle is not None and not -1 <= settle <= 1:
        raise ValueError(f"settle must be between -1 and 1, got {settle}")
    if not spread >= 0:
        raise ValueError(f"spread must be at least 0, got {spread}")
