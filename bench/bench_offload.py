"""Pack the pages of 4,096 tokens into host memory and put them back, keys and values."""

import pytest
import torch

import agentprim_kernels as ops
from bench.pools import pool

TOKENS = 4096


@pytest.mark.parametrize("way", ["cpp", "reference"])
@pytest.mark.parametrize("what", ["pack", "unpack"])
def test_offload(measure, what, way):
    p = pool(2 * TOKENS)  # half of its pages
    caches = (p.k_cache, p.v_cache)
    pages = p.page_table[: len(p.page_table) // 2]
    packed = [cache[:, pages.long()].transpose(0, 1).contiguous() for cache in caches]
    outs = [torch.zeros_like(one) for one in (packed if what == "pack" else caches)]

    def work():
        for out, cache, one in zip(outs, caches, packed, strict=True):
            if what == "pack":
                ops.pack_pages_(out, pages, cache, impl=way)
            else:
                ops.unpack_pages_(out, pages, one, impl=way)

    def check():
        work()
        for out, one in zip(outs, packed, strict=True):
            have = out if what == "pack" else out[:, pages.long()].transpose(0, 1)
            assert torch.equal(have, one)

    measure(work, check=check, moved=2 * sum(one.nbytes for one in packed), tokens=TOKENS)
