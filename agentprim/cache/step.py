"""A step: one forward pass over a batch of rows, planned before the first layer runs."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from agentprim.cache.move import gather_
from agentprim.cache.pool import Pool
from agentprim.cache.row import Row
from agentprim.cache.table import SpanTable
from agentprim_kernels import attend, store_


@dataclass(kw_only=True, eq=False)
class Step:
    """What every layer of one forward pass shares.

    Attributes:
        pool: Where the pages are.
        rows: The sequences, new tokens included.
        shifts: Per row, current positions minus the positions that the model counts.
        slots: Slot of each new token, int64 `[batch, num_new]` on the CPU; -1 for padding.
        positions: Current position of each new token, int32 `[batch, num_new]`; -1 for padding.
        columns: Columns of a dense view of the rows, new tokens included.
        spans: Whether attention reads spans; else it gets dense tensors.
        marks: What the rows were before, for `undo`.
        seen: Layers that have stored their keys.
    """

    pool: Pool
    rows: list[Row]
    shifts: list[int]
    slots: Tensor
    positions: Tensor
    columns: int
    spans: bool
    marks: list[tuple]
    seen: set[int] = field(default_factory=set)
    _on_device: dict = field(default_factory=dict)

    def store(self, keys: Tensor, values: Tensor, layer: int) -> None:
        """Store a layer's new keys and values `[batch, num_kv_heads, num_new, dim]`."""
        group, row = self.pool.place[layer]
        keys, values = self.pool.layout.layer_rope(layer).order(keys, values)
        cache = slice(row, row + 1)
        slots = self._move("slots", self.slots, keys.device)
        store_(group.k_cache[cache], group.v_cache[cache], slots, keys[None], values[None])
        self.seen.add(layer)

    def attend(self, query: Tensor, layer: int, **options) -> Tensor:
        """Attend from new tokens `[batch, num_heads, num_new, k_dim]` to the rows' spans."""
        group, row = self.pool.place[layer]
        table = self._table(query.device)
        out, _ = attend(
            query, group.k_cache[row], group.v_cache[row], table.page_table, table.spans,
            table.rotation(group)[row], table.span_starts,
            self._move("positions", self.positions, query.device),
            key_positions=table.key_positions, interleaved=group.interleaved,
            cascade=table.cascade, **options,
        )  # fmt: skip
        return out

    def dense(self, layer: int) -> tuple[Tensor, Tensor]:
        """Gather a layer as `[batch, num_kv_heads, columns, dim]`, tokens at the right end."""
        group, row = self.pool.place[layer]
        key = ("dense", id(group))
        if key not in self._on_device:
            self._on_device[key] = self._dense_slots().to(group.k_cache.device)
        lead = (len(self.rows), group.k_cache.shape[2], self.columns)
        out_k = group.k_cache.new_zeros(*lead, group.k_cache.shape[4])[None]
        out_v = group.v_cache.new_zeros(*lead, group.v_cache.shape[4])[None]
        table = self._table(out_k.device)
        gather_(out_k, out_v, group, slice(row, row + 1), table, self._on_device[key])
        return self.pool.layout.layer_rope(layer).order(out_k[0], out_v[0])

    def undo(self) -> None:
        """Take the new tokens back from every row."""
        for row, mark in zip(self.rows, self.marks, strict=True):
            row.undo(mark)

    def _dense_slots(self) -> Tensor:
        ends = [
            index * self.columns + self.columns - row.length + torch.arange(row.length)
            for index, row in enumerate(self.rows)
        ]
        return torch.cat(ends)

    def _table(self, device: torch.device) -> SpanTable:
        key = ("table", device)
        if key not in self._on_device:
            spans = [row.spans() for row in self.rows]
            self._on_device[key] = SpanTable(
                spans, shifts=self.shifts, page_size=self.pool.page_size, device=device
            )
        return self._on_device[key]

    def _move(self, name: str, value: Tensor, device: torch.device) -> Tensor:
        key = (name, device)
        if key not in self._on_device:
            self._on_device[key] = value.to(device, non_blocking=True)
        return self._on_device[key]
