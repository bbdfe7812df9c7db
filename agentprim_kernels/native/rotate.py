"""Rotate stored keys in place, compiled for the CPU."""

import torch
from torch import Tensor

from agentprim_kernels.native import module
from agentprim_kernels.native.memory import dtype_code, memory, rotation_rows, span_table


def rotate_(
    k_cache: Tensor, page_table: Tensor, spans: Tensor, rotation: Tensor, *, interleaved: bool
) -> None:
    module().rotate_(
        memory(k_cache), dtype_code(k_cache), span_table(page_table, spans),
        rotation_rows(rotation), interleaved, torch.get_num_threads(),
    )  # fmt: skip
