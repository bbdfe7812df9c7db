"""Plan a step: everything that can be refused is refused before a row has changed."""

import torch
from torch import Tensor

from agentprim.cache.columns import check_columns
from agentprim.cache.counting import count_new, counted_positions
from agentprim.cache.pool import Pool
from agentprim.cache.row import Row
from agentprim.cache.span import Span
from agentprim.cache.step import Step


def plan(
    pool: Pool,
    rows: list[Row],
    *,
    held: int,
    num_new: int,
    ids: Tensor | None,
    mask: Tensor | None,
    position_ids: Tensor | None,
    absolute: bool,
    spans: bool,
) -> Step:
    """Claim slots for the new tokens of each row and note where they stand. Rows are modified.

    Args:
        pool: Where the slots are.
        rows: The sequences so far.
        held: Columns that are cached.
        num_new: Columns of new tokens, padding included.
        ids: Their ids `[batch, num_new]`, or None for embeddings.
        mask: `[batch, held + num_new]`, zeros at the left, or None for all ones.
        position_ids: `[batch or 1, num_new]`, or None where the model counts columns.
        absolute: Whether positions are current positions; else the deltas make up for them.
        spans: Whether attention reads spans; else it gets dense tensors.

    Raises:
        ValueError: The mask or the positions do not fit; no row has changed.
        PoolExhausted: The pool is too small; no row has changed.
        UnsupportedModel: Positions would need what is not proved; no row has changed.
    """
    counts = count_new(rows, held + num_new, num_new, mask)
    counted = counted_positions(position_ids, len(rows), held, num_new)
    side = _side(pool, rows, counted)
    lines = [line[num_new - count :] for line, count in zip(counted, counts, strict=True)]
    shifts = [
        row.next_position - line[0] if line and not absolute else 0
        for row, line in zip(rows, lines, strict=True)
    ]
    for row, line, shift in zip(rows, lines, shifts, strict=True):
        _check_places(pool, row, line, shift, side)
        if not spans:
            _check_dense(pool, row, line, shift)
    if not spans and mask is None and len({row.length for row in rows} | {held}) > 1:
        lengths = [row.length for row in rows]
        raise ValueError(
            f"attention_mask must be given for rows of different length, got None for {lengths}"
        )
    claims = pool.claim([row.end for row in rows], counts)
    marks = [row.mark() for row in rows]
    slots = torch.full((len(rows), num_new), -1, dtype=torch.int64)
    current = torch.full((len(rows), num_new), -1, dtype=torch.int32)
    tokens = ids.tolist() if ids is not None else [[-1] * num_new] * len(rows)
    for index, (row, line, shift) in enumerate(zip(rows, lines, shifts, strict=True)):
        first = num_new - len(line)
        own = row.append(
            *claims[index], positions=line, delta=shift, ids=tokens[index][first:], side=side
        )
        slots[index, first:] = torch.tensor(own, dtype=torch.int64)
        current[index, first:] = torch.tensor(line, dtype=torch.int32) + shift
    return Step(
        pool=pool, rows=rows, marks=marks, shifts=shifts, slots=slots, positions=current,
        columns=held + num_new, spans=spans,
    )  # fmt: skip


def _side(pool: Pool, rows: list[Row], counted: list[list[int]]) -> int:
    """Find out by which tables the model turns the keys of this pass, those of no row excepted."""
    if pool.layout.switch is None:
        return 0
    last = max((position for line in counted for position in line), default=0)
    return pool.layout.side(last, (row.side for row in rows if row.length))


def _check_places(pool: Pool, row: Row, line: list[int], shift: int, side: int) -> None:
    """Check that keys computed at `line` may stand `shift` further, behind what the row holds."""
    if not line:
        return
    pool.layout.require(shift, first=min(line), last=max(line), side=side)
    if row.moved:
        pool.layout.require_reach(max(line) + shift, side)


def _check_dense(pool: Pool, row: Row, line: list[int], shift: int) -> None:
    """Check that columns will do for a row on the dense path."""
    current = [position + shift for position in line]
    if any(b < a for a, b in zip([row.next_position - 1, *current], current, strict=False)):
        raise ValueError(
            f"position_ids must go on behind what is cached where attention gets dense tensors, "
            f"got {current[:4]} after {row.next_position - 1}"
        )
    new = [
        Span(pages=(), first_slot=0, length=1, position=position, ids=(), leases=())
        for position in current
    ]
    check_columns(pool.layout, [*row.spans(), *new])
