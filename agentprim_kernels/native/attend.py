"""Attend over spans, compiled for the CPU."""

import torch
from torch import Tensor

from agentprim_kernels.cascade import Cascade
from agentprim_kernels.native import module
from agentprim_kernels.native.memory import dtype_code, memory, rotation_rows, span_table


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
    out = query.new_empty(batch, num_queries, heads, v_cache.shape[-1])
    lse = query.new_empty(batch, heads, num_queries, dtype=torch.float32)
    span_starts = span_starts.contiguous()
    if key_positions is not None:
        key_positions = key_positions.contiguous()
    if sinks is not None:
        sinks = sinks.float().contiguous()
    module().attend(
        out.data_ptr(), lse.data_ptr(), memory(query), memory(k_cache), memory(v_cache),
        dtype_code(query), span_table(page_table, spans), rotation_rows(rotation),
        span_starts.data_ptr(), query_positions.data_ptr(),
        0 if key_positions is None else key_positions.data_ptr(),
        0 if key_positions is None else key_positions.shape[0],
        scale, window or 0, softcap or 0.0, 0 if sinks is None else sinks.data_ptr(),
        interleaved, torch.get_num_threads(),
    )  # fmt: skip
    return out.transpose(1, 2), lse
