"""Span tables: the tensors by which kernels find spans, built once per step for all layers."""

from collections.abc import Sequence
from itertools import accumulate, chain

import torch
from torch import Tensor

from agentprim.cache.common import cut_common
from agentprim.cache.group import LayerGroup
from agentprim.cache.span import Span, side_of
from agentprim_kernels import cascade, rotation


class SpanTable:
    """Spans of several sequences as the kernels read them.

    Attributes:
        page_table: int32 `[sum of pages]`.
        spans: int32 `[num_spans, 5]`, columns as in `agentprim_kernels.attend`.
        span_starts: int32 `[num_sequences + 1]`.
        key_positions: int32 `[gapped tokens]`, or None.
        cascade: Which sequences share spans, or None.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[Span]],
        *,
        shifts: Sequence[int] | None = None,
        page_size: int | None = None,
        device,
    ) -> None:
        """Lay out the spans of each sequence.

        Args:
            rows: Spans of each sequence, in token order; all on one side of a switch.
            shifts: For each sequence, its current positions minus those that the model counts;
                keys are turned by `delta - shift` to meet a query that was counted.
            page_size: Slots of a page; given, spans that sequences share are found.
            device: Where the kernels run.
        """
        shares = page_size is not None and len(rows) > 1
        if shares:
            rows = cut_common(rows, page_size)
        flat = list(chain.from_iterable(rows))
        pages = [len(span.pages) for span in flat]
        starts = list(accumulate(pages, initial=0))
        gapped = [len(span.positions or ()) for span in flat]
        gap_starts = list(accumulate(gapped, initial=0))
        table = [
            (start, span.first_slot, span.length, span.start, gap if span.positions else -1)
            for span, start, gap in zip(flat, starts, gap_starts, strict=False)
        ]
        host = (
            _int32(list(chain.from_iterable(span.pages for span in flat))),
            _int32(table).reshape(len(table), 5),
            _int32(list(accumulate(map(len, rows), initial=0))),
        )
        positions = None
        if any(gapped):
            positions = _int32([p + span.delta for span in flat for p in span.positions or ()])
        found = cascade(*host, page_size=page_size, key_positions=positions) if shares else None
        self.page_table, self.spans, self.span_starts = (_move(part, device) for part in host)
        self.key_positions = None if positions is None else _move(positions, device)
        self.cascade = None if found is None else found.to(device)
        shifts = shifts or [0] * len(rows)
        self._deltas = [
            span.delta - shift for row, shift in zip(rows, shifts, strict=True) for span in row
        ]
        self._side = side_of(flat)
        self._rotations: dict[int, Tensor] = {}

    def rotation(self, group: LayerGroup) -> Tensor:
        """Return the group's cos/sin rows, fp32 `[group_layers, num_spans, 2, rotary_dim / 2]`."""
        key = id(group)
        if key not in self._rotations:
            self._rotations[key] = rotation(self._deltas, group.table(self._side))
        return self._rotations[key]


def _int32(numbers: list) -> Tensor:
    return torch.tensor(numbers, dtype=torch.int32)


def _move(table: Tensor, device) -> Tensor:
    return table.to(device, non_blocking=True)


def span_slots(span: Span, page_size: int) -> Tensor:
    """List the slots of a span in token order, int64 `[length]` on the CPU."""
    offset = span.first_slot + torch.arange(span.length)
    pages = torch.tensor(span.pages, dtype=torch.int64)
    return pages[offset // page_size] * page_size + offset % page_size
