"""Common spans: cut rows so that what they share is a span of its own in each of them."""

from collections import defaultdict
from collections.abc import Sequence

from agentprim.cache.span import Span


def cut_common(rows: Sequence[Sequence[Span]], page_size: int) -> list[list[Span]]:
    """Cut spans where those of other rows end that begin with the same slots.

    Of rows that share a tail, one goes on in the same pages: its span is longer than theirs, though
    it holds the same tokens. Cut in two, the first part can be read once for all.

    Args:
        rows: Spans of each row.
        page_size: Slots of a page.

    Returns:
        The same tokens in the same order; spans as they were where nothing is to be cut.
    """
    ends: dict[tuple[int, int], set[tuple[int, ...]]] = defaultdict(set)
    for span in {id(span): span for row in rows for span in row if span.length}.values():
        ends[span.first_slot, span.pages[0]].add((span.length, *span.pages))
    if all(len(found) == 1 for found in ends.values()):
        return [list(row) for row in rows]
    return [[part for span in row for part in _cut(span, ends, page_size)] for row in rows]


def _cut(
    span: Span, ends: dict[tuple[int, int], set[tuple[int, ...]]], page_size: int
) -> list[Span]:
    if not span.length:
        return [span]
    cuts = {0, span.length}
    for length, *pages in ends[span.first_slot, span.pages[0]]:
        needed = -(-(span.first_slot + length) // page_size)
        if length < span.length and tuple(pages[:needed]) == span.pages[:needed]:
            cuts.add(length)
    if len(cuts) == 2:
        return [span]
    bounds = sorted(cuts)
    return [span.cut(begin, end, page_size) for begin, end in zip(bounds, bounds[1:], strict=False)]
