"""Gather spans, rotate their keys and scatter both to new slots, compiled for the CPU."""

import torch
from torch import Tensor

from agentprim_kernels.native import module
from agentprim_kernels.native.memory import dtype_code, memory, rotation_rows, span_table


def materialize_(
    out_k: Tensor,
    out_v: Tensor,
    slot_mapping: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    page_table: Tensor,
    spans: Tensor,
    rotation: Tensor,
    *,
    interleaved: bool,
) -> None:
    ends = (memory(out_k), memory(out_v), memory(k_cache), memory(v_cache))
    module().materialize_(
        ends, dtype_code(k_cache), slot_mapping.data_ptr(), slot_mapping.shape[0],
        span_table(page_table, spans), rotation_rows(rotation), interleaved,
        torch.get_num_threads(),
    )  # fmt: skip
