"""Copy whole pages, compiled for the CPU and in CUDA."""

import torch
from torch import Tensor

from agentprim_kernels.native import module
from agentprim_kernels.native.memory import memory


def copy_pages_(out_cache: Tensor, cache: Tensor, pairs: Tensor) -> None:
    what = (
        memory(out_cache), memory(cache), cache.element_size(), pairs.data_ptr(), pairs.shape[0],
    )  # fmt: skip
    if not cache.is_cuda:
        module().copy_pages_(*what, torch.get_num_threads())
        return
    with torch.cuda.device(cache.device):
        stream = torch.cuda.current_stream().cuda_stream
        module().copy_pages_cuda_(*what, cache.device.index, stream)
