"""A row: one sequence of a batch while it grows, token by token, at the end of its spans."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentprim.cache.kv import KV
from agentprim.cache.lease import Lease
from agentprim.cache.pool import Pool
from agentprim.cache.span import Span, merge, side_of


@dataclass(slots=True)
class _Open:
    """A span that may still grow: lists where a `Span` has tuples, and the row has its leases."""

    pages: list[int]
    first_slot: int
    length: int
    position: int
    delta: int
    ids: list[int]
    side: int

    def span(self, *, ids: bool = False) -> Span:
        return Span(
            pages=tuple(self.pages), first_slot=self.first_slot, length=self.length,
            position=self.position, delta=self.delta, ids=tuple(self.ids) if ids else (),
            leases=(), side=self.side,
        )  # fmt: skip


class Row:
    """Spans of one sequence, and the new tokens written behind them.

    Attributes:
        length: Tokens held.
        next_position: Position of the next token.
    """

    def __init__(self, pool: Pool, kv: KV | None = None) -> None:
        """Start from a KV, which is not changed, or empty."""
        self.pool = pool
        self._base = kv.spans if kv is not None else ()
        self._marks = kv.marks if kv is not None else ()
        self._new: list[_Open] = []
        self._leases: list[Lease] = []  # of the new pages
        self.length = len(kv) if kv is not None else 0
        self.next_position = kv.next_position if kv is not None else 0
        for span in self._base:
            for lease in span.leases:
                lease.owners.add(self)

    @property
    def end(self) -> tuple[int, int]:
        """The last page and how many of its slots are used; page -1 where it is full or none."""
        pieces = self._new or self._base
        if not pieces:
            return -1, 0
        fill = (pieces[-1].first_slot + pieces[-1].length) % self.pool.page_size
        return (pieces[-1].pages[-1], fill) if fill else (-1, 0)

    @property
    def ids(self) -> list[int]:
        """Token ids, -1 where there is none."""
        return [i for span in (*self._base, *self._new) for i in span.ids]

    @property
    def side(self) -> int:
        """By which tables the keys were turned; see `Span`. Rows without tokens say 0."""
        return side_of(self._base or self._new)

    @property
    def moved(self) -> bool:
        """Whether any key stands elsewhere than where it was computed."""
        return any(span.delta for span in (*self._base, *self._new))

    def spans(self) -> list[Span]:
        """List all spans for reading; those of new tokens have neither ids nor leases."""
        return [*self._base, *(piece.span() for piece in self._new)]

    def kv(self) -> KV:
        """Return what the row holds now as a KV, with one lease for each span."""
        new = [self.pool.share(piece.span(ids=True)) for piece in self._new]
        spans = merge([*self._base, *new], self.pool.page_size)
        one_lease = [self.pool.share(span) if len(span.leases) > 1 else span for span in spans]
        return KV(self.pool, one_lease, marks=self._marks)

    def mark(self) -> tuple:
        """Remember the present state for `undo`."""
        ends = (self._new[-1].length, len(self._new[-1].pages)) if self._new else None
        return len(self._new), ends, len(self._leases), self.length, self.next_position

    def undo(self, mark: tuple) -> None:
        """Forget all tokens that came after `mark`; their pages are freed."""
        count, ends, leases, self.length, self.next_position = mark
        del self._new[count:], self._leases[leases:]
        if ends:
            last = self._new[-1]
            last.length = ends[0]
            del last.ids[ends[0] :], last.pages[ends[1] :]

    def append(
        self,
        pages: tuple[int, ...],
        first_slot: int,
        leases: tuple[Lease, ...],
        *,
        positions: list[int],
        delta: int,
        ids: list[int],
        side: int = 0,
    ) -> list[int]:
        """Add claimed slots as new tokens and return the slot of each.

        Args:
            pages: Claimed pages, the tail page included where it is filled up.
            first_slot: Offset of the first token in the first page.
            leases: What keeps the new pages alive.
            positions: Where the model computes each key.
            delta: What is missing to its current position.
            ids: Token ids, -1 where there is none.
            side: By which tables the model turns these keys.
        """
        size = self.pool.page_size
        self._leases += leases
        for begin, end in _runs(positions):
            first, last = first_slot + begin, first_slot + end - 1
            touched = pages[first // size : last // size + 1]
            self._extend(touched, first % size, positions[begin], delta, ids[begin:end], side)
        self.length += len(positions)
        if positions:
            self.next_position = max(self.next_position, max(positions) + delta + 1)
        return [
            pages[at // size] * size + at % size
            for at in range(first_slot, first_slot + len(positions))
        ]

    def _extend(
        self, pages: tuple[int, ...], offset: int, position: int, delta: int, ids: list[int],
        side: int,
    ) -> None:  # fmt: skip
        last = self._new[-1] if self._new else None
        if last is not None and self._continues(last, pages[0], offset, position, delta):
            last.pages += pages[offset > 0 :]  # unless it begins a page, it goes on in the last one
            last.length += len(ids)
            last.ids += ids
        else:
            self._new.append(_Open(list(pages), offset, len(ids), position, delta, list(ids), side))

    def _continues(self, last: _Open, page: int, offset: int, position: int, delta: int) -> bool:
        if last.delta != delta or last.position + last.length != position:
            return False
        end = (last.first_slot + last.length) % self.pool.page_size
        return offset == end and (offset == 0 or last.pages[-1] == page)


def _runs(positions: list[int]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each run of consecutive positions."""
    begin = 0
    for index in range(1, len(positions) + 1):
        if index == len(positions) or positions[index] != positions[index - 1] + 1:
            yield begin, index
            begin = index
