"""Read a pack: rows behind KVs and behind each other in one forward pass, without padding."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agentprim.cache.hf import NAME, PagedCache
from agentprim.cache.kv import KV
from agentprim.cache.pack import Pack
from agentprim.engine.load import cache_name

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine


def can_pack(engine: "Engine") -> bool:
    """Tell whether rows can be packed: attention must read spans, at positions that are proved."""
    layout, config = engine.pool.layout, engine.model.base_model.config
    reads = str(config._attn_implementation).startswith(NAME)
    return reads and layout.spans and layout.rope is not None


@torch.no_grad()
def read_packed(
    engine: "Engine", ids: Sequence[list[int]], bases: Sequence[KV | int]
) -> tuple[list[KV], tuple[Tensor, ...]]:
    """Run rows of ids, each behind a KV or behind an earlier row; see `Pack`.

    Returns:
        For each row a new KV, and the last hidden states of its tokens `[len(ids), d]`.
    """
    pack, base = Pack(engine.pool, bases, ids), engine.model.base_model
    cache = PagedCache(engine.model, kv=pack.found, absolute=True)
    cache.batch = pack  # its pass is planned already
    line = torch.tensor([[token for row in ids for token in row]])
    output = base(
        input_ids=line.to(engine.device),
        attention_mask=torch.ones_like(line).to(engine.device),
        position_ids=torch.tensor([pack.positions]).to(engine.device),
        use_cache=True,
        **{cache_name(base): cache},
    )
    return pack.found, output[0][0].split([len(row) for row in ids])
