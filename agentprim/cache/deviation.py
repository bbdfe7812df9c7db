"""Deviation: how far stored keys or values are from what the model computes in their new place."""

from dataclasses import dataclass

import torch
from torch import Tensor

from agentprim.cache.kv import KV
from agentprim.cache.move import gather_
from agentprim.cache.rewrite import runs
from agentprim.cache.step import Step
from agentprim.cache.table import SpanTable


class Measured(Exception):
    """Ends a forward pass at its check layer: the layers behind it are not needed."""


@dataclass(kw_only=True, eq=False)
class Check(Step):
    """A forward pass that stores up to a layer, and there compares with what is stored.

    *CacheBlend* (arXiv 2405.16444), with the sum over heads and dims

        deviation_t = sum (X_new - X_stored)^2        X = values, or keys where they now stand

    Attributes:
        kvs: What is stored, one a row.
        chosen: Tokens of the pass, indices in each KV.
        layer: The check layer.
        measure: `"values"` or `"keys"`.
        deviation: fp32 `[batch, num_new]` on the CPU once measured; padding has no meaning.
    """

    kvs: list[KV]
    chosen: list[list[int]]
    layer: int
    measure: str
    deviation: Tensor | None = None

    def store(self, keys: Tensor, values: Tensor, layer: int) -> None:
        """Store a layer before the check layer; measure that one and end the pass.

        Raises:
            Measured: The deviation is known.
        """
        if layer < self.layer:
            super().store(keys, values, layer)
            return
        stored = self._stored(layer)
        new, old = (keys, stored[0]) if self.measure == "keys" else (values, stored[1])
        self.deviation = (new.float() - old.float()).square().sum((1, 3)).cpu()
        raise Measured

    def _stored(self, layer: int) -> tuple[Tensor, Tensor]:
        """Gather the stored keys, turned to where they now stand, and values of the tokens."""
        group, row = self.pool.place[layer]
        batch, width = self.slots.shape
        table = SpanTable(
            [
                [span for b, e in runs(own, own) for span in kv[own[b] : own[e - 1] + 1].spans]
                for kv, own in zip(self.kvs, self.chosen, strict=True)
            ],
            device=group.k_cache.device,
        )
        slots = torch.arange(batch * width).reshape(batch, width)[self.slots >= 0]
        lead = (1, batch, group.k_cache.shape[2], width)
        out_k = group.k_cache.new_zeros(*lead, group.k_cache.shape[4])
        out_v = group.v_cache.new_zeros(*lead, group.v_cache.shape[4])
        gather_(out_k, out_v, group, slice(row, row + 1), table, slots.to(out_k.device))
        return self.pool.layout.layer_rope(layer).order(out_k[0], out_v[0])
