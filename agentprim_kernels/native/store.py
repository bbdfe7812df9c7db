"""Write new keys and values to their slots, compiled for the CPU."""

import torch
from torch import Tensor

from agentprim_kernels.native import module
from agentprim_kernels.native.memory import dtype_code, memory


def store_(
    k_cache: Tensor, v_cache: Tensor, slot_mapping: Tensor, keys: Tensor, values: Tensor
) -> None:
    ends = (memory(k_cache), memory(v_cache), memory(keys), memory(values))
    threads = torch.get_num_threads()
    module().store_(ends, dtype_code(k_cache), slot_mapping.data_ptr(), threads)
