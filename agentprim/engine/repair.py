"""Repair: recompute a few joined tokens where they now stand, with all before them in sight."""

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import torch

from agentprim.cache.deviation import Check, Measured
from agentprim.cache.kv import KV
from agentprim.cache.marks import of_kind
from agentprim.cache.rewrite import Rewrite
from agentprim.engine.read import run_planned
from agentprim.engine.shards import total

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine

MEASURES = ("values", "keys")


@dataclass(frozen=True, kw_only=True)
class Repair:
    """Which tokens of joined parts are recomputed in their new place.

    Attributes:
        first: The first tokens of each joined part (LegoLink, of EPIC, arXiv 2410.15332); 0 for
            none.
        share: The share of all joined tokens, rounded up, that deviate most at the check layer
            (CacheBlend, arXiv 2405.16444); 0 for none.
        layer: The check layer. Layer 0 knows nothing of the context, so at least 1.
        measure: What is compared there: `"values"` or `"keys"`.
    """

    first: int = 16
    share: float = 0.15
    layer: int = 1
    measure: Literal["values", "keys"] = "values"

    def __post_init__(self) -> None:
        """Check all fields."""
        if self.first < 0:
            raise ValueError(f"first must be at least 0, got {self.first}")
        if not 0 <= self.share <= 1:
            raise ValueError(f"share must be between 0 and 1, got {self.share}")
        if self.layer < 1:
            raise ValueError(f"layer must be at least 1, got {self.layer}")
        if self.measure not in MEASURES:
            raise ValueError(f"measure must be one of {MEASURES}, got {self.measure!r}")


@dataclass(frozen=True, kw_only=True)
class Repaired:
    """A repaired KV and what that took.

    Attributes:
        kv: The same tokens at the same positions.
        recomputed: Indices of the tokens that were recomputed.
        checked: Indices of the tokens that ran up to the check layer to be compared.
        skipped: Indices of joined tokens without an id (latent steps): they cannot be recomputed.
    """

    kv: KV
    recomputed: tuple[int, ...] = ()
    checked: tuple[int, ...] = ()
    skipped: tuple[int, ...] = ()


@torch.no_grad()
def repair(engine: "Engine", kvs: list[KV], how: Repair) -> list[Repaired]:
    """Repair KVs as one batch; see `Engine.repair`."""
    layers = len(engine.pool.layout.shapes)
    if 0 < how.share < 1 and how.layer >= layers:
        raise ValueError(f"layer must be at most {layers - 1}, got {how.layer}")
    parts = [of_kind(kv.marks, "part") for kv in kvs]
    ids = [kv.ids for kv in kvs]
    joined = [[i for begin, end in own for i in range(begin, end)] for own in parts]
    tokens = [[i for i in own if text[i] >= 0] for own, text in zip(joined, ids, strict=True)]
    checked = tokens if 0 < how.share < 1 else [[] for _ in kvs]
    worst = [own if how.share == 1 else [] for own in tokens]
    if any(checked):
        worst = _worst(engine, kvs, checked, how)
    heads = [
        {i for begin, end in own for i in range(begin, min(begin + how.first, end))}
        for own in parts
    ]
    chosen = [
        sorted(set(most) | (head & set(own)))
        for most, head, own in zip(worst, heads, tokens, strict=True)
    ]
    new = dict(zip(*_recompute(engine, kvs, chosen), strict=True))
    return [
        Repaired(
            kv=new[row] if row in new else kv.fork(), recomputed=tuple(chosen[row]),
            checked=tuple(checked[row]), skipped=tuple(sorted(set(joined[row]) - set(tokens[row]))),
        )
        for row, kv in enumerate(kvs)
    ]  # fmt: skip


def _recompute(engine: "Engine", kvs: list[KV], chosen: list[list[int]]):
    """Recompute tokens in one pass; return the rows that had any, and their new KVs."""
    rows = [row for row, own in enumerate(chosen) if own]
    if not rows:
        return [], []
    kvs, chosen = [kvs[row] for row in rows], [chosen[row] for row in rows]
    batch = Rewrite(engine.pool, kvs, chosen)
    states = _run(engine, batch, kvs, chosen)[0]
    for row, (kv, own) in enumerate(zip(batch.kvs, chosen, strict=True)):
        if own[-1] == len(kv) - 1:
            kv.hidden = states[row, -1].clone()
    return rows, batch.kvs


def _worst(
    engine: "Engine", kvs: list[KV], tokens: list[list[int]], how: Repair
) -> list[list[int]]:
    """Pick the tokens of each row that deviate most at the check layer."""
    rows = [row for row, own in enumerate(tokens) if own]
    some, own = [kvs[row] for row in rows], [tokens[row] for row in rows]
    check = partial(Check, kvs=some, chosen=own, layer=how.layer, measure=how.measure)
    batch = Rewrite(engine.pool, some, own, check)
    try:
        _run(engine, batch, some, own)
    except Measured:
        pass
    found: list[list[int]] = [[] for _ in kvs]
    deviation = total(batch.plan.deviation, engine.mesh, engine.device)
    for row, indices, line in zip(rows, own, deviation, strict=True):
        count = math.ceil(how.share * len(indices) - 1e-9)
        most = line[-len(indices) :].argsort(descending=True, stable=True)[:count]
        found[row] = [indices[i] for i in most.tolist()]
    return found


def _run(engine: "Engine", batch: Rewrite, kvs: list[KV], chosen: list[list[int]]):
    """Run the chosen tokens through the model, at their positions."""
    ids = [[text[i] for i in own] for text, own in zip((kv.ids for kv in kvs), chosen, strict=True)]
    return run_planned(engine, batch, kvs, ids, batch.positions)
