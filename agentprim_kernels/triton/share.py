"""Device functions that cut a sequence's spans into equal shares of key tiles."""

import triton
import triton.language as tl


@triton.jit
def visible_tiles(
    length,
    position,
    gaps_start,
    query_min,
    query_max,
    window,
    HAS_WINDOW: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Bound the tiles of a span that some query of the block may see: first and last + 1, int64.

    Positions of a span without gaps are consecutive, so both ends follow from its first one. A span
    with gaps is taken whole and left to the mask. int64, since a difference of two positions may
    not fit in int32.
    """
    length = length.to(tl.int64)
    position = position.to(tl.int64)
    stop = tl.minimum(tl.maximum(query_max.to(tl.int64) - position + 1, 0), length)
    stop = tl.where(gaps_start >= 0, length, stop)
    start = stop * 0
    if HAS_WINDOW:
        start = tl.maximum(query_min.to(tl.int64) - window + 1 - position, 0)
        start = tl.where(gaps_start >= 0, 0, start)
    seen = (query_max >= 0) & (start < stop)
    first = tl.where(seen, start // BLOCK_N, 0)
    return first, tl.where(seen, (stop + BLOCK_N - 1) // BLOCK_N, 0)


@triton.jit
def cut_share(tiles, present, first_span, split, num_splits):
    """Find what one of `num_splits` programs reads of spans of `tiles` tiles each.

    Returns:
        First and last + 1 span, int64 to index with; tiles to skip in the first; number of tiles.
    """
    ends = tl.cumsum(tiles, 0)
    total = tl.sum(tiles, 0).to(tl.int64)
    begin = (total * split // num_splits).to(tl.int32)
    end = (total * (split + 1) // num_splits).to(tl.int32)
    before = present & (ends <= begin)
    skip = begin - tl.max(tl.where(before, ends, 0), 0)
    started = present & (ends - tiles < end)
    first = first_span.to(tl.int64) + tl.sum(before.to(tl.int32), 0)
    last = first_span.to(tl.int64) + tl.sum(started.to(tl.int32), 0)
    return first, last, skip, end - begin


@triton.jit
def own_share(
    spans,  # [num_spans, 5]
    first_span,
    last_span,
    query_min,
    query_max,
    window,
    split,
    num_splits,
    HAS_WINDOW: tl.constexpr,
    BLOCK_N: tl.constexpr,
    SPANS: tl.constexpr,
):
    """Find what a program reads of the spans `first_span` to `last_span - 1`: see `cut_share`."""
    span = first_span + tl.arange(0, SPANS)
    present = span < last_span
    length = tl.load(spans + 5 * span + 2, mask=present, other=0)
    position = tl.load(spans + 5 * span + 3, mask=present, other=0)
    gaps_start = tl.load(spans + 5 * span + 4, mask=present, other=-1)
    low, high = visible_tiles(
        length, position, gaps_start, query_min, query_max, window, HAS_WINDOW, BLOCK_N
    )
    return cut_share((high - low).to(tl.int32), present, first_span, split, num_splits)
