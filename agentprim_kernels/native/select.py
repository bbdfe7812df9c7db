"""Copy chosen tokens to new slots, each turned by its row, compiled for the CPU."""

import torch
from torch import Tensor

from agentprim_kernels.native import module
from agentprim_kernels.native.memory import dtype_code, memory, rotation_rows


def select_(
    out_k: Tensor,
    out_v: Tensor,
    slot_mapping: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    source_slots: Tensor,
    rows: Tensor,
    rotation: Tensor,
    *,
    interleaved: bool,
) -> None:
    ends = (memory(out_k), memory(out_v), memory(k_cache), memory(v_cache))
    module().select_(
        ends, dtype_code(k_cache), slot_mapping.data_ptr(), source_slots.data_ptr(),
        rows.data_ptr(), slot_mapping.shape[0], rotation_rows(rotation), interleaved,
        torch.get_num_threads(),
    )  # fmt: skip
