"""A span: a run of tokens in consecutive slots that knows how far it has moved."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentprim.cache.lease import Lease

MAX_RUNS = 8  # a KV that would fall into more runs than this is copied to pages of its own first


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Tokens in consecutive slots of a page list, with one delta for all of them.

    Attributes:
        pages: Pages in order; the first and last may hold other tokens too.
        first_slot: Offset of the first token in the first page, in slots.
        length: Number of tokens.
        position: Where the first key was computed.
        delta: How far every key has moved since, in positions.
        ids: Token id of each token; -1 for a latent step, which has none.
        leases: What keeps the pages alive.
        positions: Where each key was computed, for tokens with gaps between them; else None.
        side: By which tables the keys were turned: 1 for those of a pass beyond the switch of a
            model that has one (LongRoPE), else 0.
    """

    pages: tuple[int, ...]
    first_slot: int
    length: int
    position: int
    delta: int = 0
    ids: tuple[int, ...]
    leases: tuple[Lease, ...]
    positions: tuple[int, ...] | None = None
    side: int = 0

    @property
    def start(self) -> int:
        """Current position of the first token."""
        return self.position + self.delta

    @property
    def stop(self) -> int:
        """One past the current position of the last token."""
        last = self.positions[-1] if self.positions else self.position + self.length - 1
        return last + self.delta + 1

    def moved(self, by: int) -> "Span":
        """Return the same tokens, `by` positions further; no key is touched."""
        return replace(self, delta=self.delta + by) if by else self

    def relabelled(self, by: int) -> "Span":
        """Claim that the keys were computed `by` positions further: wrong, for one experiment."""
        positions = self.positions and tuple(position + by for position in self.positions)
        return replace(self, position=self.position + by, positions=positions)

    def cut(self, begin: int, end: int, page_size: int) -> "Span":
        """Return tokens `begin` to `end - 1` of this span."""
        first = self.first_slot + begin
        last = self.first_slot + end - 1
        positions = self.positions[begin:end] if self.positions else None
        return replace(
            self,
            pages=self.pages[first // page_size : last // page_size + 1],
            first_slot=first % page_size,
            length=end - begin,
            position=positions[0] if positions else self.position + begin,
            ids=self.ids[begin:end],
            positions=positions,
        )

    def meets(self, other: "Span", page_size: int) -> bool:
        """Tell whether `other` goes on exactly where this span ends: slots, positions, delta."""
        if (self.delta, self.side) != (other.delta, other.side):
            return False
        if self.positions or other.positions:
            return False
        if self.position + self.length != other.position:
            return False
        end = self.first_slot + self.length
        if end % page_size:
            return other.first_slot == end % page_size and other.pages[0] == self.pages[-1]
        # a full last page: another page list is always a fresh run of slots
        return other.first_slot == 0

    def merged(self, other: "Span", page_size: int) -> "Span":
        """Return both as one span; only where `meets` holds."""
        shared = (self.first_slot + self.length) % page_size != 0
        extra = tuple(lease for lease in other.leases if lease not in self.leases)
        return replace(
            self,
            pages=self.pages + other.pages[shared:],
            length=self.length + other.length,
            ids=self.ids + other.ids,
            leases=self.leases + extra,
        )


def side_of(spans: Sequence[Span]) -> int:
    """Return the side that spans are on; those of a KV are on one."""
    return spans[0].side if spans else 0


def merge(spans: list[Span], page_size: int) -> tuple[Span, ...]:
    """Merge neighbours that continue each other and drop empty spans."""
    merged: list[Span] = []
    for span in spans:
        if span.length == 0:
            continue
        if merged and merged[-1].meets(span, page_size):
            merged[-1] = merged[-1].merged(span, page_size)
        else:
            merged.append(span)
    return tuple(merged)
