"""Read a pack: rows behind KVs and behind each other in one forward pass, without padding."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agentprim.cache.kv import KV
from agentprim.cache.pack import Pack
from agentprim.cache.watch import reads_spans
from agentprim.engine.read import run_planned

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine


def can_pack(engine: "Engine") -> bool:
    """Tell whether rows can be packed: attention must read spans, at positions that are proved."""
    layout = engine.pool.layout
    return layout.spans and layout.rope is not None and reads_spans(engine.model.base_model)


@torch.no_grad()
def read_packed(
    engine: "Engine", ids: Sequence[list[int]], bases: Sequence[KV | int], *, extend: bool = False
) -> tuple[list[KV], tuple[Tensor, ...]]:
    """Run rows of ids, each behind a KV or behind an earlier row; arguments as of `Pack`.

    Returns:
        For each row a new KV, and the last hidden states of its tokens `[len(ids), d]`.
    """
    pack = Pack(engine.pool, bases, ids, extend=extend)
    line = [token for row in ids for token in row]
    output = run_planned(engine, pack, pack.found, [line], [pack.positions])
    return pack.found, output[0][0].split([len(row) for row in ids])
