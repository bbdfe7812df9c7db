"""Device functions that serve several rows of a batch together: a group of a `Cascade`."""

import triton
import triton.language as tl

from agentprim_kernels.triton.share import cut_share, visible_tiles

_NOWHERE = tl.constexpr(-(2**31))
_LATEST = tl.constexpr(2**31 - 1)


@triton.jit
def member_ends(
    rows,  # [members], of one group
    query_positions,  # [batch, num_queries]
    num_queries,
    first_row,
    GROUP: tl.constexpr,
    MEMBERS: tl.constexpr,
    QUERIES: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    """Load the extremes of each member's query positions, `[MEMBERS]`; -1 behind for others.

    Members without a query among the packed rows `first_row` to `first_row + BLOCK_M - 1` see
    nothing: what they alone hold need not be read.
    """
    member = tl.arange(0, MEMBERS)
    packed = member * num_queries * GROUP
    here = (packed < first_row + BLOCK_M) & (packed + num_queries * GROUP > first_row)
    batch = tl.load(rows + member, mask=here, other=-1).to(tl.int64)[:, None]
    token = tl.arange(0, QUERIES)[None, :]
    mask = (batch >= 0) & (token < num_queries)
    at = tl.load(query_positions + batch * num_queries + token, mask=mask, other=-1)
    return tl.min(tl.where(at >= 0, at, _LATEST), 1), tl.max(at, 1)


@triton.jit
def shared_tiles(
    held,  # [num_held, MEMBERS]
    entry,  # [entries]
    present,  # [entries]
    spans,  # [num_spans, 5]
    query_min,  # [MEMBERS]
    query_max,  # [MEMBERS]
    window,
    MEMBERS: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Bound the tiles that some member may see, `[entries]`: first and last + 1."""
    member = tl.arange(0, MEMBERS)[None, :]
    mask = present[:, None] & (query_max >= 0)[None, :]
    span = tl.load(held + entry[:, None] * MEMBERS + member, mask=mask, other=-1)
    holds = span >= 0
    length = tl.load(spans + 5 * span + 2, mask=holds, other=0)
    position = tl.load(spans + 5 * span + 3, mask=holds, other=0)
    gaps_start = tl.load(spans + 5 * span + 4, mask=holds, other=-1)
    low, high = visible_tiles(
        length, position, gaps_start, query_min[None, :], query_max[None, :], window, HAS_WINDOW,
        BLOCK_N,
    )  # fmt: skip
    last = tl.max(high, 1)
    first = tl.min(tl.where(high > low, low, _LATEST), 1)
    return tl.minimum(first, last), last


@triton.jit
def own_shared(
    held,  # [num_held, MEMBERS]
    spans,  # [num_spans, 5]
    first_entry,
    last_entry,
    query_min,  # [MEMBERS]
    query_max,  # [MEMBERS]
    window,
    split,
    num_splits,
    MEMBERS: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
    BLOCK_N: tl.constexpr,
    SPANS: tl.constexpr,
):
    """Find what a program reads of `held[first_entry : last_entry]`: see `cut_share`."""
    entry = first_entry + tl.arange(0, SPANS)
    present = entry < last_entry
    low, high = shared_tiles(
        held, entry, present, spans, query_min, query_max, window, MEMBERS, HAS_WINDOW, BLOCK_N
    )
    return cut_share((high - low).to(tl.int32), present, first_entry, split, num_splits)


@triton.jit
def seen_by(spans, own, leader, at):
    """Move each row's query position to where the leader's span puts the same keys, int32.

    A row without the span sees nothing of it.
    """
    holds = own >= 0
    position = tl.load(spans + 5 * own + 3, mask=holds, other=0).to(tl.int64)
    leads = tl.load(spans + 5 * leader + 3).to(tl.int64)
    moved = at.to(tl.int64) - position + leads
    moved = tl.minimum(tl.maximum(moved, -(2**31)), 2**31 - 1).to(tl.int32)
    return tl.where(holds & (at != _NOWHERE), moved, _NOWHERE)
