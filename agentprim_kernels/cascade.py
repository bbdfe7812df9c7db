"""Find rows of a batch that hold the same spans, so that `attend` can read those once."""

from collections import defaultdict
from dataclasses import dataclass

import torch
from torch import Tensor

from agentprim_kernels import checks

# of a row's tokens, the share that it must have in common with a group: all others of a group
# compute along, for nothing, while a program reads what one row alone holds
_LEAST_SHARE = 0.25
_Key = tuple[int, int, bytes, bytes]


@dataclass(frozen=True, kw_only=True)
class Cascade:
    """Groups of rows that are served together; each row is in one of them.

    Attributes:
        rows: Rows of each group, int32 `[num_groups, members]`; -1 is no row.
        starts: What group g reads is `held[starts[g]]` to `held[starts[g + 1] - 1]`, int32
            `[num_groups + 1]`.
        held: The span by which each member refers to the same tokens, a row of the span table,
            int32 `[num_held, members]`; -1 for a member that does not hold them.
    """

    rows: Tensor
    starts: Tensor
    held: Tensor

    def to(self, device: torch.device | str) -> "Cascade":
        """Move all tables to a device."""
        rows, starts, held = (
            table.to(device, non_blocking=True) for table in (self.rows, self.starts, self.held)
        )
        return Cascade(rows=rows, starts=starts, held=held)

    def copy_(self, other: "Cascade") -> None:
        """Take the contents of another cascade of equal shapes. Modified."""
        self.rows.copy_(other.rows, non_blocking=True)
        self.starts.copy_(other.starts, non_blocking=True)
        self.held.copy_(other.held, non_blocking=True)


def cascade(
    page_table: Tensor,
    spans: Tensor,
    span_starts: Tensor,
    *,
    page_size: int,
    key_positions: Tensor | None = None,
    most_members: int = 16,
    fixed: bool = False,
) -> Cascade | None:
    """Group the rows of a batch by the spans that they share.

    Two rows share a span where both hold the same slots in the same order; each at positions and
    with a delta of its own. A row joins the group with which it has most tokens in common, if
    these are at least a quarter of its own.

    Args:
        page_table: As in `attend`, on the CPU.
        spans: As in `attend`, on the CPU.
        span_starts: As in `attend`, on the CPU.
        page_size: Slots of a page.
        key_positions: As in `attend`, on the CPU.
        most_members: Rows of a group, at most. A shared span is read once a group.
        fixed: Give tables whose shapes follow from those of the arguments, for buffers that a CUDA
            graph reads. Else the smallest tables, or None where no row shares anything.

    Raises:
        TypeError, ValueError: An argument has the wrong type, shape, dtype or device.
    """
    checks.tables(page_table, spans)
    checks.tensor(span_starts, "span_starts", 1, (torch.int32,))
    checks.require(page_table.device.type == "cpu", "page_table", "be on cpu", page_table.device)
    checks.same_device(page_table, spans, span_starts, key_positions)
    checks.require(most_members >= 1, "most_members", "be at least 1", most_members)
    bounds = span_starts.tolist()
    rows = [range(begin, end) for begin, end in zip(bounds, bounds[1:], strict=False)]
    lengths = spans[:, 2].tolist()
    keys = _keys(page_table, spans, page_size, key_positions)
    groups = _groups([[keys[span] for span in row] for row in rows], most_members)
    widest = max(map(len, groups), default=0)
    if widest < 2 and not fixed:
        return None
    members = 1 << ((most_members if fixed else widest) - 1).bit_length()
    held, starts = [], [0]
    for group in groups:
        entries: dict[_Key | tuple[int, int], list[int]] = {}
        for member, row in enumerate(group):
            times: dict[_Key, int] = defaultdict(int)  # a row may hold the same tokens twice
            for span in rows[row]:
                if lengths[span] == 0:
                    continue
                key = keys[span]
                entry = entries.setdefault((key, times[key]), [-1] * members)
                entry[member] = span
                times[key] += 1
        held += entries.values()
        starts.append(len(held))
    table = [group + [-1] * (members - len(group)) for group in groups]
    if fixed:
        table += [[-1] * members] * (len(rows) - len(table))
        starts += [starts[-1]] * (len(rows) + 1 - len(starts))
        held += [[-1] * members] * (len(spans) - len(held))
    return Cascade(
        rows=torch.tensor(table, dtype=torch.int32).reshape(-1, members),
        starts=torch.tensor(starts, dtype=torch.int32),
        held=torch.tensor(held, dtype=torch.int32).reshape(-1, members),
    )


def _keys(
    page_table: Tensor, spans: Tensor, page_size: int, key_positions: Tensor | None
) -> list[_Key]:
    """Name the tokens of each span: equal names are the same slots, and the same gaps between."""
    keys, pages = [], page_table.numpy()
    for start, first_slot, length, _, gaps in spans.tolist():
        entries = -(-(first_slot + length) // page_size)
        steps = b""
        if gaps >= 0 and key_positions is not None:
            at = key_positions[gaps : gaps + length]
            steps = (at - at[:1]).numpy().tobytes()
        keys.append((first_slot, length, pages[start : start + entries].tobytes(), steps))
    return keys


def _groups(rows: list[list[_Key]], most_members: int) -> list[list[int]]:
    """Put each row into a group, beginning with the first row that has none."""
    holders: dict[_Key, list[int]] = defaultdict(list)
    for row, keys in enumerate(rows):
        for key in set(keys):
            holders[key].append(row)
    tokens = [sum(length for _, length, _, _ in keys) for keys in rows]
    free, groups = dict.fromkeys(range(len(rows))), []
    while free:
        group: list[int] = []
        common: dict[int, int] = {next(iter(free)): 0}  # tokens shared with the group, by row
        counted: set[_Key] = set()
        while common and len(group) < most_members:
            row = max(common, key=lambda row: (common[row], -row))
            if group and common[row] < max(1, _LEAST_SHARE * tokens[row]):
                break
            group.append(row)
            del free[row], common[row]
            for key in set(rows[row]) - counted:
                counted.add(key)
                for other in holders[key]:
                    if other in free:
                        common[other] = common.get(other, 0) + key[1]
        groups.append(group)
    return groups
