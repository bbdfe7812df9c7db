"""Move keys for real: in place, into pages of their own, or into dense tensors."""

from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from agentprim.cache.group import LayerGroup
from agentprim.cache.pool import Pool
from agentprim.cache.span import MAX_RUNS, Span, merge, side_of
from agentprim.cache.table import SpanTable, span_slots
from agentprim_kernels import materialize_, rotate_, select_


def rotate(pool: Pool, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Rotate the stored keys of spans by their deltas, in place, and return them with delta 0."""
    moving = [span for span in spans if span.delta]
    for group in pool.groups if moving else ():
        table = SpanTable([moving], device=group.k_cache.device)
        rotate_(
            group.k_cache, table.page_table, table.spans, table.rotation(group),
            interleaved=group.interleaved,
        )  # fmt: skip
    settled = [
        replace(
            span, delta=0, position=span.start,
            positions=span.positions and tuple(p + span.delta for p in span.positions),
        )
        for span in spans
    ]  # fmt: skip
    return merge(settled, pool.page_size)


def overlap(spans: tuple[Span, ...], page_size: int) -> bool:
    """Tell whether a slot belongs to two tokens of the spans."""
    ends: dict[int, list[tuple[int, int]]] = {}
    for span in spans:
        for index, page in enumerate(span.pages):
            begin = max(span.first_slot - index * page_size, 0)
            end = min(span.first_slot + span.length - index * page_size, page_size)
            ends.setdefault(page, []).append((begin, end))
    return any(
        begin < end for runs in ends.values() for (_, end), (begin, _) in pairwise(sorted(runs))
    )


def materialize(pool: Pool, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Copy spans into pages of their own, keys turned to where they now stand."""
    if not spans:
        return ()
    ids = [i for span in spans for i in span.ids]
    copies, slots = fresh(pool, current_positions(spans), ids, side_of(spans))
    for group in pool.groups:
        device = group.k_cache.device
        table = SpanTable([spans], device=device)
        materialize_(
            group.k_cache, group.v_cache, slots.to(device), group.k_cache, group.v_cache,
            table.page_table, table.spans, table.rotation(group), interleaved=group.interleaved,
        )  # fmt: skip
    return copies


def compact(pool: Pool, spans: tuple[Span, ...], indices: list[int]) -> tuple[Span, ...]:
    """Copy chosen tokens into pages of their own, keys turned to where they now stand.

    Args:
        pool: The pool of the spans.
        spans: The tokens to choose from.
        indices: Positions in their concatenation, ascending. Gaps between them stay gaps.
    """
    at = torch.tensor(indices)
    source = torch.cat([span_slots(span, pool.page_size) for span in spans])[at]
    lengths = torch.tensor([span.length for span in spans])
    rows = torch.arange(len(spans), dtype=torch.int32).repeat_interleave(lengths)[at]
    positions, ids = current_positions(spans), [i for span in spans for i in span.ids]
    copies, slots = fresh(
        pool, [positions[i] for i in indices], [ids[i] for i in indices], side_of(spans)
    )
    for group in pool.groups:
        device = group.k_cache.device
        table = SpanTable([spans], device=device)
        select_(
            group.k_cache, group.v_cache, slots.to(device), group.k_cache, group.v_cache,
            source.to(device), rows.to(device), table.rotation(group),
            interleaved=group.interleaved,
        )  # fmt: skip
    return copies


def gather_(
    out_k: Tensor, out_v: Tensor, group: LayerGroup, rows: slice, table: SpanTable, slots: Tensor
) -> None:
    """Copy the tokens of a table, turned, into dense tensors. `out_k` and `out_v` are modified.

    Args:
        out_k: `[num_layers, batch, num_kv_heads, num_columns, k_dim]`.
        out_v: The same with `v_dim`.
        group: Where the tokens are.
        rows: Which layers of the group.
        table: Which tokens, in order.
        slots: For each token `row * num_columns + column`, int64 on the device of the group.
    """
    materialize_(
        out_k, out_v, slots, group.k_cache[rows], group.v_cache[rows], table.page_table,
        table.spans, table.rotation(group)[rows], interleaved=group.interleaved,
    )  # fmt: skip


def current_positions(spans: tuple[Span, ...]) -> list[int]:
    """List the current position of every token."""
    found: list[int] = []
    for span in spans:
        computed = span.positions or range(span.position, span.position + span.length)
        found.extend(position + span.delta for position in computed)
    return found


def fresh(
    pool: Pool, positions: list[int], ids: list[int], side: int
) -> tuple[tuple[Span, ...], Tensor]:
    """Claim pages for tokens at given positions; return their spans and their slots."""
    ((pages, first_slot, leases),) = pool.claim([(-1, 0)], [len(positions)])
    whole = Span(
        pages=pages, first_slot=first_slot, length=len(positions), position=0, ids=tuple(ids),
        leases=leases, side=side,
    )  # fmt: skip
    breaks = [i for i in range(1, len(positions)) if positions[i] != positions[i - 1] + 1]
    if len(breaks) >= MAX_RUNS:  # a few spans with explicit positions instead of many without
        breaks = [i for i in breaks if positions[i] <= positions[i - 1]]
    spans = []
    for begin, end in zip([0, *breaks], [*breaks, len(positions)], strict=True):
        part, where = whole.cut(begin, end, pool.page_size), positions[begin:end]
        gapped = where[-1] - where[0] != len(where) - 1
        part = replace(part, position=where[0], positions=tuple(where) if gapped else None)
        spans.append(pool.share(part) if breaks else part)
    return tuple(spans), span_slots(whole, pool.page_size)
