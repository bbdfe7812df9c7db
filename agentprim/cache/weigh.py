"""Weigh: how much attention one token pays to each part of what is cached, by log-sum-exps."""

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from agentprim.cache.batch import Batch
from agentprim.cache.kv import KV
from agentprim.cache.step import Step
from agentprim.cache.table import SpanTable
from agentprim.errors import UnsupportedModel
from agentprim_kernels import attend


@dataclass(kw_only=True, eq=False)
class Weighing(Step):
    """A forward pass of one row that also weighs parts, for its last token, in every layer.

    Attending to a part alone gives the log-sum-exp of its scores; its share of the whole is

        mass = exp(lse_part - lse_all)

    so no attention weights are ever made.

    Attributes:
        parts: Disjoint parts of what is cached.
        masses: Of each layer so far, fp32 `[num_parts + 1, num_heads]`; sinks are last.
    """

    parts: list[KV]
    masses: list[Tensor]

    def attend(self, query: Tensor, layer: int, **options) -> Tensor:
        """Attend as ever, and weigh."""
        self.masses.append(self._weigh(query[:, :, -1:], layer, **options))
        return super().attend(query, layer, **options)

    def _weigh(self, query: Tensor, layer: int, sinks: Tensor | None = None, **options) -> Tensor:
        group, row = self.pool.place[layer]
        device, position = query.device, self.positions[:, -1:]

        def lse(table: SpanTable, count: int) -> Tensor:
            _, found = attend(
                query.expand(count, -1, -1, -1), group.k_cache[row], group.v_cache[row],
                table.page_table, table.spans, table.rotation(group)[row], table.span_starts,
                position.expand(count, -1).contiguous().to(device),
                key_positions=table.key_positions, interleaved=group.interleaved, **options,
            )  # fmt: skip
            return found[:, :, 0].float()  # [count, num_heads]

        spans = [part.spans for part in self.parts]
        own = SpanTable(spans, shifts=self.shifts * len(spans), device=device)
        each = lse(own, len(spans)) if spans else query.new_zeros(0, query.shape[1])
        whole = lse(SpanTable([self.rows[0].spans()], shifts=self.shifts, device=device), 1)
        sink = torch.full_like(whole, -torch.inf)
        if sinks is not None:
            sink = sinks.float()[None]
            whole = torch.logaddexp(whole, sink)
        return torch.exp(torch.cat([each, sink]) - whole).cpu()


class Weighed(Batch):
    """One row whose forward pass weighs parts of what it stands on.

    Attributes:
        masses: As in `Weighing`, one for each layer of the last pass.
    """

    def __init__(self, kv: KV, parts: list[KV]) -> None:
        """Start from a KV, which is not changed, and disjoint parts of it."""
        super().__init__(kv.pool, [kv])
        self.masses: list[Tensor] = []
        self._parts = parts

    def begin(self, count: int, num_new: int, **options) -> None:
        """Plan the pass.

        Raises:
            UnsupportedModel: Attention does not read spans on this model.
        """
        if not options.get("spans"):
            raise UnsupportedModel(
                f"{self.pool.layout.model_class} attends to dense tensors, so parts cannot be "
                "weighed"
            )
        super().begin(count, num_new, **options)
        self.masses.clear()
        plan = {one.name: getattr(self.step, one.name) for one in fields(Step)}
        self.step = Weighing(**plan, parts=self._parts, masses=self.masses)
