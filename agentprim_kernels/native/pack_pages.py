"""Pack pages into host memory and put them back: straight on the CPU, or through a ring."""

import torch
from torch import Tensor

from agentprim_kernels.native import module
from agentprim_kernels.native.memory import memory
from agentprim_kernels.staging_ring import StagingRing


def pack_pages_(
    packed: Tensor, pages: Tensor, cache: Tensor, *, ring: StagingRing | None = None
) -> None:
    _run("pack_pages_", packed, pages, cache, ring)


def unpack_pages_(
    cache: Tensor, pages: Tensor, packed: Tensor, *, ring: StagingRing | None = None
) -> None:
    _run("unpack_pages_", packed, pages, cache, ring)


def _run(
    function: str, packed: Tensor, pages: Tensor, cache: Tensor, ring: StagingRing | None
) -> None:
    what = (
        packed.data_ptr(), pages.data_ptr(), pages.shape[0], memory(cache), cache.element_size(),
        torch.get_num_threads(),
    )  # fmt: skip
    copy = getattr(module() if ring is None else ring.compiled, function)
    if ring is None:
        copy(*what)
    elif cache.is_cuda:
        with torch.cuda.device(cache.device):
            copy(*what, packed.is_pinned(), torch.cuda.current_stream().cuda_stream)
    else:
        copy(*what, False, 0)
