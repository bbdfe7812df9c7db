"""Attend over spans: turn the query instead of the keys."""

import torch
from torch import Tensor

from agentprim_kernels import checks
from agentprim_kernels.cascade import Cascade
from agentprim_kernels.dispatch import pick


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
    key_positions: Tensor | None = None,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    interleaved: bool = False,
    cascade: Cascade | None = None,
    impl: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Attend from new tokens to the spans of their sequence, one layer.

    For each span s the query is turned by `-delta_s`, so its keys stay as they were stored:

        score(q, k) = scale * (R(-delta_s) q)^T k

    since `(R(m) q)^T R(d) R(p) k = (R(-d) R(m) q)^T R(p) k`.

    Spans give partial results that are merged by their log-sum-exp. A key is visible iff its
    current position is at most the query's, and nearer than `window`. Soft-capping applies to each
    score; a sink enters each head's denominator once, at the merge. Exact up to rounding: the
    query is turned in fp32 and rounded once to its dtype, sums are fp32.

    Rows of a batch may hold the same span (the same slots), each with a delta and positions of its
    own. A cascade names those rows; one program then reads the span's keys and values once for a
    tile of all their queries. It says how to read, not what: results are the same but for rounding.

    Args:
        query: `[batch, num_heads, num_queries, k_dim]`; any strides with a contiguous last
            dimension, dtype of the cache. Already rotated for its position.
        k_cache: One layer, `[num_pages, num_kv_heads, page_size, k_dim]`. `num_heads` is a
            multiple of `num_kv_heads`; query head h reads KV head
            `h // (num_heads / num_kv_heads)`.
        v_cache: The same with `v_dim`.
        page_table: As in `rotate_`.
        spans: int32 `[num_spans, 5]`; columns: start in `page_table`, slot offset in the first
            page, length, current position (position + delta) of the first key, start in
            `key_positions` or -1 where positions are consecutive. Spans may share slots.
        rotation: This layer's rows, fp32 `[num_spans, 2, rotary_dim / 2]`, for `+delta`.
        span_starts: Spans of sequence b are rows `span_starts[b]` to `span_starts[b + 1] - 1`,
            int32 `[batch + 1]`.
        query_positions: Current position of each query, int32 `[batch, num_queries]`; a negative
            position marks padding, which sees nothing.
        key_positions: Ascending current positions of tokens of spans with gaps, int32
            `[num_gapped_tokens]`.
        scale: Factor of the scores.
        window: Visible distance in positions, the query's own included; None is unlimited.
        softcap: `softcap * tanh(score / softcap)`; None is off.
        sinks: One logit per query head, `[num_heads]`.
        interleaved: As in `rotate_`.
        cascade: What `cascade` returned for these tables, on their device. Triton serves rows
            together that have few new queries each; other cases go row by row.
        impl: `"triton"`, `"cpp"`, `"reference"`; None decides by device.

    Returns:
        `out`: `[batch, num_heads, num_queries, v_dim]`, dtype of the query, laid out in memory as
            `[batch, num_queries, num_heads, v_dim]`; zeros where nothing is visible.
        `lse`: log-sum-exp of the scores (and the sink), fp32 `[batch, num_heads, num_queries]`;
            where nothing is visible the sink alone, -inf without one or without any span.

    Raises:
        TypeError, ValueError: An argument has the wrong type, shape, dtype or device.
    """
    checks.cache(query, "query", 4)
    checks.pair(k_cache, v_cache, "k_cache", "v_cache", 4)
    if query.dtype != k_cache.dtype:
        checks.fail("query", f"be {k_cache.dtype}", query.dtype)
    batch, heads, num_queries, k_dim = query.shape
    _, kv_heads, _, cached_dim = k_cache.shape
    if k_dim != cached_dim:
        checks.fail("query", f"have k_dim = {cached_dim}", k_dim)
    if heads % kv_heads:
        checks.fail("query", f"have a multiple of {kv_heads} heads", heads)
    checks.tables(page_table, spans)
    checks.rotation(rotation, (spans.shape[0],), k_dim)
    if not rotation.is_contiguous():
        checks.fail("rotation", "be contiguous", rotation.stride())
    checks.tensor(span_starts, "span_starts", 1, (torch.int32,))
    if span_starts.shape[0] != batch + 1:
        checks.fail("span_starts", f"have {batch + 1} entries", span_starts.shape[0])
    checks.tensor(query_positions, "query_positions", 2, (torch.int32,))
    if query_positions.shape != (batch, num_queries):
        want = f"have shape {(batch, num_queries)}"
        checks.fail("query_positions", want, tuple(query_positions.shape))
    if key_positions is not None:
        checks.tensor(key_positions, "key_positions", 1, (torch.int32,))
    if sinks is not None:
        checks.tensor(sinks, "sinks", 1, checks.FLOATS)
        if sinks.shape[0] != heads:
            checks.fail("sinks", f"have {heads} entries", sinks.shape[0])
    checks.require(window is None or window >= 1, "window", "be at least 1 or None", window)
    checks.require(softcap is None or softcap > 0, "softcap", "be positive or None", softcap)
    checks.same_device(
        query, k_cache, v_cache, page_table, spans, rotation, span_starts, query_positions,
        key_positions, sinks,
    )  # fmt: skip
    if cascade is not None:
        _check(cascade, query)
    run = pick("attend", "attend", query, impl, can=query.dtype != torch.float64)
    return run(
        query, k_cache, v_cache, page_table, spans, rotation, span_starts,
        query_positions.contiguous(), key_positions=key_positions, scale=scale, window=window,
        softcap=softcap, sinks=sinks, interleaved=interleaved, cascade=cascade,
    )  # fmt: skip


def _check(cascade: Cascade, query: Tensor) -> None:
    """Require tables of matching shapes on the device of the query."""
    for name in ("rows", "held"):
        checks.tensor(getattr(cascade, name), f"cascade.{name}", 2, (torch.int32,))
    checks.tensor(cascade.starts, "cascade.starts", 1, (torch.int32,))
    groups, members = cascade.rows.shape
    if members < 1 or members & (members - 1):
        checks.fail("cascade.rows", "have a power of 2 of columns", members)
    if cascade.held.shape[1] != members:
        checks.fail("cascade.held", f"have {members} columns", cascade.held.shape[1])
    if cascade.starts.shape[0] != groups + 1:
        checks.fail("cascade.starts", f"have {groups + 1} entries", cascade.starts.shape[0])
    for table in (cascade.rows, cascade.starts, cascade.held):
        checks.require(table.is_contiguous(), "cascade", "be contiguous", table.stride())
    checks.same_device(query, cascade.rows, cascade.starts, cascade.held)
