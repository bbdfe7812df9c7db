"""Attend over spans, turning the query back once per span, in plain torch."""

import torch
from torch import Tensor

from agentprim_kernels.cascade import Cascade
from agentprim_kernels.reference.slots import span_slots
from agentprim_kernels.reference.turn import turn


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
    batch, heads, num_queries, _ = query.shape
    out = query.new_zeros(batch, num_queries, heads, v_cache.shape[-1]).transpose(1, 2)
    lse = torch.full(query.shape[:3], float("-inf"), dtype=_exact(query), device=query.device)
    for row in range(batch):
        partials = [
            _attend_span(
                query[row], k_cache, v_cache, page_table, spans[index], rotation[index],
                query_positions[row], key_positions, scale, window, softcap, interleaved,
            )
            for index in range(int(span_starts[row]), int(span_starts[row + 1]))
        ]  # fmt: skip
        if partials:
            merged, lse[row] = _merge(*map(torch.stack, zip(*partials, strict=True)), sinks)
            out[row] = merged.to(out.dtype)
    return out, lse


def _attend_span(
    query: Tensor, k_cache: Tensor, v_cache: Tensor, page_table: Tensor, span: Tensor,
    rotation: Tensor, query_positions: Tensor, key_positions: Tensor | None, scale: float,
    window: int | None, softcap: float | None, interleaved: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return one span's softmax average `[heads, queries, v_dim]` and log-sum-exp."""
    exact = _exact(query)
    page_size, group = k_cache.shape[2], query.shape[0] // k_cache.shape[1]
    slots = span_slots(page_table, span, page_size)
    keys, values = (
        cache[slots // page_size, :, slots % page_size].transpose(0, 1).to(exact)
        for cache in (k_cache, v_cache)
    )  # [kv_heads, length, dim]
    turned = turn(query, rotation[0], -rotation[1], interleaved=interleaved).to(exact)
    scores = scale * turned @ keys.repeat_interleave(group, dim=0).transpose(1, 2)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    position, positions_start = int(span[3]), int(span[4])
    if positions_start >= 0:
        at = key_positions[positions_start : positions_start + len(slots)].long()
    else:
        at = position + torch.arange(len(slots), device=slots.device)
    distance = query_positions.long()[:, None] - at[None, :]
    hidden = (distance < 0) | (query_positions[:, None] < 0)
    if window is not None:
        hidden |= distance >= window
    scores = scores.masked_fill(hidden, float("-inf"))
    lse = scores.logsumexp(-1)
    weights = torch.exp(scores - lse.masked_fill(lse.isneginf(), 0.0)[..., None])
    return weights @ values.repeat_interleave(group, dim=0), lse


def _merge(out: Tensor, lse: Tensor, sinks: Tensor | None) -> tuple[Tensor, Tensor]:
    """Merge partial results `[spans, heads, queries, ...]`; a sink joins the denominator once."""
    total = lse.logsumexp(0)
    if sinks is not None:
        total = torch.logaddexp(total, sinks.to(total.dtype)[:, None].expand_as(total))
    weights = torch.exp(lse - total.masked_fill(total.isneginf(), 0.0))
    return (weights[..., None] * out).sum(0), total


def _exact(query: Tensor) -> torch.dtype:
    """Choose fp32 for sums, fp64 where the query is."""
    return torch.promote_types(query.dtype, torch.float32)
