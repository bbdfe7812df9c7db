"""Marks: what a KV remembers of where its tokens come from, carried along by every operation."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A run of tokens of a KV with one origin.

    Attributes:
        begin: Index of the first token.
        end: One past the index of the last token.
        kind: `"part"`: joined behind tokens that it never saw; `"system"`: an agent's system
            prompt, its first token (BOS) included.
    """

    begin: int
    end: int
    kind: Literal["part", "system"]

    def moved(self, by: int) -> "Mark":
        """Return the same mark, `by` tokens further."""
        return replace(self, begin=self.begin + by, end=self.end + by) if by else self


def of_kind(marks: Sequence[Mark], kind: str) -> list[tuple[int, int]]:
    """List begin and end of all marks of a kind, in order."""
    return [(mark.begin, mark.end) for mark in marks if mark.kind == kind]


def keep(marks: Sequence[Mark], indices: Sequence[int]) -> tuple[Mark, ...]:
    """Say where marks stand once only some tokens are left.

    A part that comes to stand first is a part no longer: nothing is before it.

    Args:
        marks: Of all tokens.
        indices: The tokens that are left, ascending; a range will do.
    """
    moved = [
        replace(mark, begin=bisect_left(indices, mark.begin), end=bisect_left(indices, mark.end))
        for mark in marks
    ]
    return tuple(
        mark for mark in moved if mark.begin < mark.end and (mark.begin or mark.kind != "part")
    )


def join(marks: Sequence[Sequence[Mark]], lengths: Sequence[int]) -> tuple[Mark, ...]:
    """Put marks behind each other as `join` puts tokens.

    All of a later part becomes joined tokens, cut where it was joined before.

    Args:
        marks: Of each part.
        lengths: Tokens of each part.
    """
    found: list[Mark] = []
    offset = 0
    for own, length in zip(marks, lengths, strict=True):
        moved = [mark.moved(offset) for mark in own]
        if offset:
            starts = dict.fromkeys([offset, *(m.begin for m in moved if m.kind == "part")])
            edges = [*starts, offset + length]
            moved = [mark for mark in moved if mark.kind != "part"]
            moved += [
                Mark(begin=begin, end=end, kind="part")
                for begin, end in zip(edges, edges[1:], strict=False)
                if begin < end
            ]
        found += moved
        offset += length
    return tuple(found)
