"""Attend over spans: a program reads its share of key tiles for a block of queries."""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from agentprim_kernels.cascade import Cascade
from agentprim_kernels.triton.launch import (
    fixed_page_size,
    launch,
    next_power_of_2,
    processors,
    span_block,
)
from agentprim_kernels.triton.merge import merge
from agentprim_kernels.triton.plan import plan, serves_together
from agentprim_kernels.triton.query import turn_query
from agentprim_kernels.triton.rows import place
from agentprim_kernels.triton.share import own_share, visible_tiles
from agentprim_kernels.triton.together import member_ends, own_shared, seen_by, shared_tiles

_NOWHERE = tl.constexpr(-(2**31))
_LATEST = tl.constexpr(2**31 - 1)
_LOG2E = math.log2(math.e)


@triton.jit(do_not_specialize=["num_queries", "num_splits", "window", "page_size"])
def attend_kernel(
    query,  # [batch, num_heads, num_queries, K_DIM]
    k_cache,  # [num_pages, num_kv_heads, page_size, K_DIM]
    v_cache,  # [num_pages, num_kv_heads, page_size, V_DIM]
    page_table,  # [num_entries]
    spans,  # [num_spans, 5]
    rotation,  # [num_spans, 2, HALF]
    span_starts,  # [batch + 1]
    query_positions,  # [batch, num_queries]
    key_positions,  # [num_gapped_tokens]
    sinks,  # [num_heads]
    rows,  # [num_groups, MEMBERS]
    starts,  # [num_groups + 1]
    held,  # [num_held, MEMBERS]
    out,  # [batch, num_heads, num_queries, num_splits, V_DIM], normalised by each split
    lse,  # [batch, num_heads, num_queries, num_splits], of base 2 where there are several
    query_batch,
    query_head,
    query_token,
    k_page,
    k_head,
    k_slot,
    v_page,
    v_head,
    v_slot,
    out_batch,
    out_head,
    out_token,
    out_split,
    lse_batch,
    lse_head,
    lse_token,
    num_queries,
    num_splits,
    window,
    page_size,
    score_scale,  # scores in units of log 2, or in units of the cap
    cap_scale,
    GROUP: tl.constexpr,
    K_DIM: tl.constexpr,
    K_PAD: tl.constexpr,
    V_DIM: tl.constexpr,
    V_PAD: tl.constexpr,
    HALF: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    HAS_GAPS: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
    HAS_SOFTCAP: tl.constexpr,
    HAS_SINKS: tl.constexpr,
    PARTIAL: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    SPANS: tl.constexpr,
    MEMBERS: tl.constexpr,  # rows of the batch in a group, 1 without a cascade
    QUERIES: tl.constexpr,
):
    block = tl.program_id(0) // num_splits
    split = tl.program_id(0) % num_splits
    kv_head = tl.program_id(1).to(tl.int64)
    # query heads of a KV head are packed beside its queries, members of a group beside each other:
    # row = (member * num_queries + token) * GROUP + head
    row = block * BLOCK_M + tl.arange(0, BLOCK_M)
    token = (row // GROUP).to(tl.int64)
    head = kv_head * GROUP + row % GROUP
    batch = tl.program_id(2).to(tl.int64)
    if MEMBERS > 1:
        member = token // num_queries
        token = token % num_queries
        live = member < MEMBERS
        rows += batch * MEMBERS
        first_span = tl.load(starts + batch)
        last_span = tl.load(starts + batch + 1)
        batch = tl.load(rows + member, mask=live, other=-1).to(tl.int64)
        live = batch >= 0
    else:
        live = token < num_queries
        first_span = tl.load(span_starts + batch)
        last_span = tl.load(span_starts + batch + 1)
    at = tl.load(query_positions + batch * num_queries + token, mask=live, other=-1)
    if MEMBERS > 1:
        query_min, query_max = member_ends(
            rows, query_positions, num_queries, block * BLOCK_M, GROUP, MEMBERS, QUERIES, BLOCK_M
        )
        begin, end, skip, left = own_shared(
            held, spans, first_span, last_span, query_min, query_max, window, split, num_splits,
            MEMBERS, HAS_WINDOW, BLOCK_N, SPANS,
        )  # fmt: skip
    else:
        query_min = tl.min(tl.where(at >= 0, at, _LATEST), 0)
        query_max = tl.max(at, 0)
        begin, end, skip, left = own_share(
            spans, first_span, last_span, query_min, query_max, window, split, num_splits,
            HAS_WINDOW, BLOCK_N, SPANS,
        )  # fmt: skip
    at = tl.where(at >= 0, at, _NOWHERE)
    query += batch * query_batch + head * query_head + token * query_token

    k_dim = tl.arange(0, K_PAD)
    v_dim = tl.arange(0, V_PAD)
    k_cache += kv_head * k_head + k_dim[None, :]
    v_cache += kv_head * v_head + v_dim[None, :]
    best = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    weight = tl.zeros((BLOCK_M,), tl.float32)
    total = tl.zeros((BLOCK_M, V_PAD), tl.float32)
    for entry in range(begin, end):
        if MEMBERS > 1:  # the same tokens, by a span of each member that holds them
            own = tl.load(held + entry * MEMBERS + member, mask=live, other=-1).to(tl.int64)
            span = tl.maximum(tl.max(own, 0), 0)
            latest = seen_by(spans, own, span, at)
            turn = rotation + (tl.maximum(own, 0) * (2 * HALF)).to(tl.int32)[:, None]
        else:
            span = entry
            latest = at
            turn = rotation + span * (2 * HALF)
        pages = page_table + tl.load(spans + 5 * span).to(tl.int64)
        first_slot = tl.load(spans + 5 * span + 1)
        length = tl.load(spans + 5 * span + 2)
        position = tl.load(spans + 5 * span + 3)
        gaps_start = tl.load(spans + 5 * span + 4)
        if MEMBERS > 1:
            here = entry + tl.arange(0, 1)
            low, high = shared_tiles(
                held, here, here >= 0, spans, query_min, query_max, window, MEMBERS, HAS_WINDOW,
                BLOCK_N,
            )  # fmt: skip
            low, high = tl.sum(low, 0), tl.sum(high, 0)
        else:
            low, high = visible_tiles(
                length, position, gaps_start, query_min, query_max, window, HAS_WINDOW, BLOCK_N
            )
        start = low.to(tl.int32) + skip
        stop = tl.minimum(high.to(tl.int32), start + left)
        turned = turn_query(
            query[:, None], live[:, None], turn, BLOCK_M, K_DIM, K_PAD, HALF, INTERLEAVED,
        )  # fmt: skip
        for tile in range(start, stop):
            index = tile * BLOCK_N + tl.arange(0, BLOCK_N)
            present = index < length
            number, offset = place(first_slot + index, page_size, PAGE_SIZE)
            page = tl.load(pages + number, mask=present, other=0).to(tl.int64)
            offset = offset.to(tl.int64)
            k = tl.load(
                k_cache + (page * k_page + offset * k_slot)[:, None],
                mask=present[:, None] & (k_dim < K_DIM)[None, :], other=0.0,
            )  # fmt: skip
            scores = tl.dot(turned, tl.trans(k), input_precision="ieee") * score_scale
            if HAS_SOFTCAP:
                scores = cap_scale - 2.0 * cap_scale / (tl.exp2(scores) + 1.0)
            key_at = position + index
            if HAS_GAPS:
                gapped = tl.load(
                    key_positions + tl.maximum(gaps_start, 0).to(tl.int64) + index,
                    mask=present & (gaps_start >= 0), other=0,
                )  # fmt: skip
                key_at = tl.where(gaps_start >= 0, gapped, key_at)
            visible = present[None, :] & (key_at[None, :] <= latest[:, None])
            if HAS_WINDOW:
                visible &= key_at[None, :] > latest[:, None] - window
            scores = tl.where(visible, scores, float("-inf"))
            highest = tl.maximum(best, tl.max(scores, 1))
            base = tl.where(highest == float("-inf"), 0.0, highest)
            weights = tl.exp2(scores - base[:, None])
            fade = tl.exp2(best - base)
            v = tl.load(
                v_cache + (page * v_page + offset * v_slot)[:, None],
                mask=present[:, None] & (v_dim < V_DIM)[None, :], other=0.0,
            )  # fmt: skip
            faded = total * fade[:, None]
            added = tl.dot(weights.to(v.dtype), v, faded, input_precision="ieee")
            # a value that is not a number must not reach rows that do not hold it
            total = tl.where((own >= 0)[:, None], added, total) if MEMBERS > 1 else added
            weight = weight * fade + tl.sum(weights, 1)
            best = highest
        left -= stop - start
        skip = 0

    if HAS_SINKS and not PARTIAL:
        # a sequence without any span has no denominator for a sink to join
        own_first = span_starts + tl.maximum(batch, 0)
        spanned = tl.load(own_first) < tl.load(own_first + 1)
        sink = tl.load(sinks + head, mask=live, other=0.0).to(tl.float32) * 1.4426950408889634
        sink = tl.where(spanned, sink, float("-inf"))
        highest = tl.maximum(best, sink)
        base = tl.where(highest == float("-inf"), 0.0, highest)
        fade = tl.exp2(best - base)
        total = total * fade[:, None]
        weight = weight * fade + tl.exp2(sink - base)
        best = highest
    # unseen, not "weight > 0": a query that is not a number must show
    unseen = weight == 0.0
    divisor = tl.where(unseen, 1.0, weight)
    total = total / divisor[:, None]
    sum_log = tl.where(unseen, float("-inf"), best + tl.log2(divisor))
    if not PARTIAL:
        sum_log = sum_log * 0.6931471805599453
    lse += batch * lse_batch + head * lse_head + token * lse_token + split
    tl.store(lse, sum_log, mask=live)
    out += batch * out_batch + head * out_head + token * out_token + split * out_split
    mask = live[:, None] & (v_dim < V_DIM)[None, :]
    if PARTIAL:  # the merge reads only what was seen
        mask &= (weight != 0.0)[:, None]
    tl.store(out[:, None] + v_dim[None, :], total.to(out.dtype.element_ty), mask=mask)


def attend(
    query: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    page_table: Tensor,
    spans: Tensor,
    rotation: Tensor,
    span_starts: Tensor,
    query_positions: Tensor,
    *,
    key_positions: Tensor | None,
    scale: float,
    window: int | None,
    softcap: float | None,
    sinks: Tensor | None,
    interleaved: bool,
    cascade: Cascade | None,
) -> tuple[Tensor, Tensor]:
    batch, heads, num_queries, k_dim = query.shape
    kv_heads, page_size, v_dim = v_cache.shape[1:]
    group = heads // kv_heads
    groups, members, tables = batch, 1, (span_starts,) * 3
    if cascade is not None and serves_together(
        cascade, num_queries * group, max(k_dim, v_dim), query.dtype
    ):
        groups, members = cascade.rows.shape
        tables = cascade.rows, cascade.starts, cascade.held
    tiles = plan(
        rows=members * num_queries * group, k_dim=k_dim, v_dim=v_dim, dtype=query.dtype,
        members=members, programs=groups * kv_heads, capacity=page_table.numel() * page_size,
        processors=processors(query),
    )  # fmt: skip
    out = query.new_empty(batch, num_queries, heads, v_dim).transpose(1, 2)
    lse = query.new_empty(batch, heads, num_queries, dtype=torch.float32)
    splits, to, to_lse = tiles.num_splits, out.unsqueeze(3), lse.unsqueeze(3)
    if splits > 1:
        to_lse = query.new_empty(*lse.shape, splits, dtype=torch.float32)
        to = query.new_empty(*lse.shape, splits, v_dim, dtype=torch.float32)
    scores = scale * _LOG2E if softcap is None else 2 * _LOG2E * scale / softcap
    launch(
        attend_kernel, (tiles.num_blocks * splits, kv_heads, groups),
        query, k_cache, v_cache, page_table, spans, rotation, span_starts, query_positions,
        page_table if key_positions is None else key_positions,
        span_starts if sinks is None else sinks, *tables, to, to_lse,
        *query.stride()[:3], *k_cache.stride()[:3], *v_cache.stride()[:3], *to.stride()[:4],
        *to_lse.stride()[:3], num_queries, splits, min(window or 0, 2**31 - 1), page_size,
        scores, (softcap or 0.0) * _LOG2E,
        GROUP=group, K_DIM=k_dim, K_PAD=max(16, next_power_of_2(k_dim)), V_DIM=v_dim,
        V_PAD=max(16, next_power_of_2(v_dim)), HALF=rotation.shape[-1], INTERLEAVED=interleaved,
        HAS_GAPS=key_positions is not None, HAS_WINDOW=window is not None,
        HAS_SOFTCAP=softcap is not None, HAS_SINKS=sinks is not None, PARTIAL=splits > 1,
        PAGE_SIZE=fixed_page_size(k_cache), BLOCK_M=tiles.block_m, BLOCK_N=tiles.block_n,
        SPANS=span_block(spans), MEMBERS=members,
        QUERIES=next_power_of_2(num_queries) if members > 1 else 1,
        num_warps=tiles.num_warps, num_stages=tiles.num_stages, maxnreg=255,
    )  # fmt: skip
    if splits > 1:
        merge(out, lse, to, to_lse, span_starts, sinks)
    return out, lse
