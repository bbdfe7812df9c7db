"""Store the keys and values of 4,096 tokens, given in Hugging Face's layout."""

import pytest
import torch

import agentprim_kernels as ops
from bench.pools import DIM, DTYPE, KV_HEADS, LAYERS, PAGE_SIZE, pool

TOKENS = 4096


@pytest.mark.parametrize("way", ["cpp", "torch"])
def test_store(measure, way):
    p = pool(TOKENS)
    k_cache, v_cache = p["k_cache"], p["v_cache"]
    shape = (LAYERS, 1, TOKENS, KV_HEADS, DIM)
    keys, values = (torch.randn(shape).to(DTYPE).transpose(2, 3) for _ in range(2))
    slots = (p["page_table"][:, None] * PAGE_SIZE + torch.arange(PAGE_SIZE)).view(1, -1).long()

    def compiled(targets=(k_cache, v_cache)):
        ops.store_(*targets, slots, keys, values, impl="cpp")

    def plain(targets=(k_cache, v_cache)):
        pages, offsets = slots[0] // PAGE_SIZE, slots[0] % PAGE_SIZE
        for target, new in zip(targets, (keys, values), strict=True):
            target[:, pages, :, offsets] = new[:, 0].permute(2, 0, 1, 3)

    work = {"cpp": compiled, "torch": plain}[way]

    def check():
        have, want = ([torch.full_like(k_cache, torch.nan) for _ in range(2)] for _ in range(2))
        work(have)
        ops.store_(*want, slots, keys, values, impl="reference")
        for one, other in zip(have, want, strict=True):
            assert torch.equal(one, other)

    rounds = 15 if way == "cpp" else 5
    measure(
        work, check=check, rounds=rounds, moved=2 * (keys.nbytes + values.nbytes), tokens=TOKENS
    )
