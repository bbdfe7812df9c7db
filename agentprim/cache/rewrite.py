"""Rewrite: compute tokens in the middle of KVs anew, where they stand, in pages of their own."""

from collections.abc import Callable

import torch
from torch import Tensor

from agentprim.cache import move
from agentprim.cache.batch import Batch
from agentprim.cache.kv import KV
from agentprim.cache.pool import Pool
from agentprim.cache.row import Row
from agentprim.cache.span import MAX_RUNS, merge, side_of
from agentprim.cache.step import Step
from agentprim.cache.table import span_slots
from agentprim.errors import UnsupportedModel


class Rewrite(Batch):
    """Rows for one forward pass over chosen tokens, which sees all others as they are stored.

    Attributes:
        kvs: For each row the KV that the pass completes: the same tokens at the same positions.
            Its chosen tokens have private pages; the others share theirs, unless that would leave
            more than 8 runs: then all from the first chosen one on are copied.
        positions: Current position of each chosen token, one list a row.
        plan: The pass.
    """

    def __init__(
        self,
        pool: Pool,
        kvs: list[KV],
        chosen: list[list[int]],
        step: Callable[..., Step] = Step,
    ) -> None:
        """Claim pages for the chosen tokens of each row.

        Args:
            pool: Of the KVs.
            kvs: What is rewritten; not changed.
            chosen: Indices of tokens, ascending, at least one a row.
            step: Makes what the pass does in each layer.

        Raises:
            UnsupportedModel: The model cannot compute tokens between stored ones.
            PoolExhausted: The pool is too small; nothing has changed.
        """
        super().__init__(pool)
        _check(pool, kvs)
        places = [move.current_positions(kv.spans) for kv in kvs]
        self.positions = [[at[i] for i in own] for at, own in zip(places, chosen, strict=True)]
        side = pool.layout.side(max(map(max, self.positions)), (side_of(kv.spans) for kv in kvs))
        for kv, own in zip(kvs, self.positions, strict=True):
            if any(span.delta for span in kv.spans):
                pool.layout.require_reach(max(own), side)
        rooms = [_room(*row) for row in zip(kvs, chosen, self.positions, strict=True)]
        self.kvs = [kv for kv, _ in rooms]
        slots = [where.tolist() for _, where in rooms]
        self.plan = filled(pool, self.kvs, slots, self.positions, step)
        self.rows = self.plan.rows

    def begin(self, count: int, num_new: int, *, spans: bool, **options) -> None:
        """Begin the pass over all chosen tokens, padded at the left."""
        if not spans:
            _refuse(self.pool)
        if (count, num_new) != tuple(self.plan.slots.shape):
            raise ValueError(
                f"input_ids must have shape {tuple(self.plan.slots.shape)} to be rewritten, got "
                f"{(count, num_new)}"
            )
        self.step = self.plan


def filled(
    pool: Pool, kvs: list[KV], slots: list[list[int]], positions: list[list[int]],
    step: Callable[..., Step] = Step, **more,
) -> Step:  # fmt: skip
    """Plan a pass over tokens that KVs hold already: their rows take no more.

    Args:
        pool: Of the KVs.
        kvs: What the rows see.
        slots: Slot of each token, one list a line of the pass.
        positions: Current position of each.
        step: Makes the pass.
        more: Its further fields.
    """
    rows, width = [Row(pool, kv) for kv in kvs], max(map(len, slots))
    return step(
        pool=pool, rows=rows, marks=[row.mark() for row in rows], shifts=[0] * len(rows),
        slots=pad_left(slots, width), positions=pad_left(positions, width).int(), columns=width,
        spans=True, **more,
    )  # fmt: skip


def pad_left(rows: list[list[int]], width: int, value: int = -1) -> Tensor:
    """Put rows of numbers at the right end of lines, int64 `[len(rows), width]`."""
    out = torch.full((len(rows), width), value, dtype=torch.int64)
    for line, row in zip(out, rows, strict=True):
        line[width - len(row) :] = torch.tensor(row)
    return out


def runs(indices: list[int], positions: list[int]) -> list[tuple[int, int]]:
    """Cut a list of tokens where their indices or positions do not go on one by one.

    Returns:
        Begin and end of each run in the list.
    """
    breaks = [
        i
        for i in range(1, len(indices))
        if indices[i] != indices[i - 1] + 1 or positions[i] != positions[i - 1] + 1
    ]
    return list(zip([0, *breaks], [*breaks, len(indices)], strict=True))


def _room(kv: KV, chosen: list[int], positions: list[int]) -> tuple[KV, Tensor]:
    """Give chosen tokens slots of their own; return the KV that has them, and the slots."""
    new = runs(chosen, positions)
    ends = [0, *(chosen[end - 1] + 1 for _, end in new)]
    starts = [*(chosen[begin] for begin, _ in new), len(kv)]
    kept = [kv[begin:end] for begin, end in zip(ends, starts, strict=True)]
    if sum(len(part.spans) for part in kept) + len(new) > MAX_RUNS:
        return _copied(kv, chosen, kept[0])
    ids = kv.ids
    spans, slots = move.fresh(kv.pool, positions, [ids[i] for i in chosen], side_of(kv.spans))
    fresh = KV(kv.pool, spans)
    parts = list(kept[0].spans)
    for (begin, end), part in zip(new, kept[1:], strict=True):
        parts += [*fresh[begin:end].spans, *part.spans]
    return KV(kv.pool, merge(parts, kv.pool.page_size), None, kv.marks), slots


def _copied(kv: KV, chosen: list[int], before: KV) -> tuple[KV, Tensor]:
    """Copy all that stands behind `before`; return the KV with the copy, and the chosen slots."""
    if len(before.spans) >= MAX_RUNS:
        before = before[:0]
    copy = kv[len(before) :].materialize()
    slots = torch.cat([span_slots(span, kv.pool.page_size) for span in copy.spans])
    spans = merge([*before.spans, *copy.spans], kv.pool.page_size)
    return KV(kv.pool, spans, None, kv.marks), slots[[i - len(before) for i in chosen]]


def _check(pool: Pool, kvs: list[KV]) -> None:
    layout = pool.layout
    if layout.rope is None:
        raise UnsupportedModel(*layout.refusal.args)
    if not layout.spans:
        _refuse(pool)
    for kv in kvs:
        layout.require_spans(kv.spans)


def _refuse(pool: Pool) -> None:
    raise UnsupportedModel(
        f"{pool.layout.model_class} uses attention that reads dense tensors, which cannot be "
        "repaired: recomputed tokens would stand between others; "
        'use join="relocate" or join="append"'
    )
