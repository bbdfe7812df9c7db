"""A row: one sequence of a batch while it grows, token by token, at the end of its spans."""

from dataclasses import dataclass, field

from agentprim.cache.kv import KV
from agentprim.cache.lease import Lease
from agentprim.cache.pool import Pool
from agentprim.cache.span import Span, merge


@dataclass(slots=True)
class _Open:
    """The span at the end of a row, still growing; lists where a `Span` has tuples."""

    pages: list[int]
    first_slot: int
    length: int
    position: int
    delta: int
    ids: list[int] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)

    def span(self, *, ids: bool = False) -> Span:
        return Span(
            pages=tuple(self.pages), first_slot=self.first_slot, length=self.length,
            position=self.position, delta=self.delta, ids=tuple(self.ids) if ids else (),
            leases=tuple(self.leases),
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
        self._new: list[_Open] = []
        self.length = len(kv) if kv is not None else 0
        self.next_position = kv.next_position if kv is not None else 0
        for span in self._base:
            self._own(span.leases)

    @property
    def tail(self) -> Span | None:
        """The last span, behind which new tokens go; without its ids."""
        if self._new:
            return self._new[-1].span()
        return self._base[-1] if self._base else None

    @property
    def ids(self) -> list[int]:
        """Token ids, -1 where there is none."""
        return [i for span in (*self._base, *self._new) for i in span.ids]

    def spans(self, *, ids: bool = False) -> list[Span]:
        """List all spans, the growing one included; its ids are copied on demand only."""
        return [*self._base, *(piece.span(ids=ids) for piece in self._new)]

    def kv(self) -> KV:
        """Return what the row holds now as a KV."""
        return KV(self.pool, merge(self.spans(ids=True), self.pool.page_size))

    def mark(self) -> tuple:
        """Remember the present state for `undo`."""
        last = self._new[-1] if self._new else None
        ends = (last.length, len(last.pages), len(last.leases)) if last else None
        return len(self._new), ends, self.length, self.next_position

    def undo(self, mark: tuple) -> None:
        """Forget all tokens that came after `mark`."""
        count, ends, self.length, self.next_position = mark
        del self._new[count:]
        if ends:
            last = self._new[-1]
            last.length = ends[0]
            del last.ids[ends[0] :], last.pages[ends[1] :], last.leases[ends[2] :]

    def append(
        self,
        pages: tuple[int, ...],
        first_slot: int,
        leases: tuple[Lease, ...],
        *,
        positions: list[int],
        delta: int,
        ids: list[int],
    ) -> list[int]:
        """Add claimed slots as new tokens and return the slot of each.

        Args:
            pages: Claimed pages, the shared tail page included where it was filled up.
            first_slot: Offset of the first token in the first page.
            leases: What keeps the pages alive.
            positions: Where the model computes each key.
            delta: What is missing to its current position.
            ids: Token ids, -1 where there is none.
        """
        size = self.pool.page_size
        slots = [
            pages[at // size] * size + at % size
            for at in range(first_slot, first_slot + len(positions))
        ]
        self._own(leases)
        for index, (position, token) in enumerate(zip(positions, ids, strict=True)):
            at = first_slot + index
            page, offset = pages[at // size], at % size
            last = self._new[-1] if self._new else None
            if last is None or not self._continues(last, page, offset, position, delta):
                self._new.append(_Open([page], offset, 0, position, delta))
                last = self._new[-1]
            elif offset == 0:
                last.pages.append(page)
            last.length += 1
            last.ids.append(token)
        for piece in self._new:
            piece.leases.extend(
                lease
                for lease in leases
                if lease not in piece.leases and not set(lease.pages).isdisjoint(piece.pages)
            )
        self.length += len(positions)
        if positions:
            self.next_position = max(self.next_position, max(positions) + delta + 1)
        return slots

    def release(self) -> None:
        """Let go of all pages."""
        for span in (*self._base, *self._new):
            for lease in span.leases:
                lease.owners.discard(self)
        self._base, self._new = (), []

    def _continues(self, last: _Open, page: int, offset: int, position: int, delta: int) -> bool:
        if last.delta != delta or last.position + last.length != position:
            return False
        end = (last.first_slot + last.length) % self.pool.page_size
        return offset == end and (offset == 0 or last.pages[-1] == page)

    def _own(self, leases: tuple[Lease, ...]) -> None:
        for lease in leases:
            lease.owners.add(self)
