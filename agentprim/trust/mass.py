"""Attention mass: how much of its attention a receiver pays to each sender."""

from dataclasses import dataclass

import torch

from agentprim.cache.hf import PagedCache
from agentprim.cache.kv import KV, check_live
from agentprim.cache.weigh import Weighed
from agentprim.engine import Engine
from agentprim.engine.read import forward
from agentprim.engine.shards import total


@dataclass(frozen=True, kw_only=True)
class Mass:
    """Shares of the attention of one token, mean over layers and heads; they add up to 1.

    Attributes:
        parts: One for each part of the KV: what stands first, then each cache joined behind it.
        own: What was read last, the token itself included.
        sinks: Learned sinks, where a model has them.
    """

    parts: tuple[float, ...]
    own: float
    sinks: float


@torch.no_grad()
def attention_mass(engine: Engine, kv: KV, x) -> Mass:
    """Measure where the last token of `x` looks when it is read behind a joined KV.

    By the log-sum-exp of each part's scores: no attention weights are made.

    Args:
        engine: The model.
        kv: A KV, joined or not; its parts are those of `kv.joints`. Not changed.
        x: Text or ids.

    Raises:
        TypeError, ValueError: `x` is empty or of another type, or the KV is not usable here.
        UnsupportedModel: Attention does not read spans on this model.
    """
    check_live(kv, "kv", engine.pool)
    ids = engine.encode(x, fresh=not len(kv))
    edges = sorted({0, *kv.joints, len(kv)})
    parts = [kv[begin:end] for begin, end in zip(edges, edges[1:], strict=False)]
    cache = PagedCache(engine.model, kv=kv, absolute=True)
    cache.batch = batch = Weighed(kv, parts)
    forward(engine, engine.model.base_model, cache, [ids], [kv])
    shares = torch.stack(batch.masses).double().mean((0, 2))  # over layers and heads
    if engine.mesh is not None:  # those of this process
        shares = total(shares, engine.mesh, engine.device) / engine.mesh.size()
    shares = shares.tolist()
    return Mass(parts=tuple(shares[:-1]), own=max(0.0, 1 - sum(shares)), sinks=shares[-1])
