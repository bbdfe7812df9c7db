"""Select every second of 8,192 tokens, and turn each key to its new place."""

import pytest
import torch

import agentprim_kernels as ops
from bench.pools import DIM, DTYPE, KV_HEADS, LAYERS, PAGE_SIZE, close, frequencies, pool, turned

TOKENS, ROWS = 8192, 8


@pytest.mark.parametrize("way", ["cpp", "torch"])
def test_select(measure, way):
    p = pool(TOKENS)
    kept = TOKENS // 2
    source = torch.randperm(TOKENS, generator=torch.Generator().manual_seed(1))[:kept]
    rows = (torch.arange(kept) * ROWS // kept).int()
    rotation = ops.rotation([-3 * n - 1 for n in range(ROWS)], frequencies())
    shape = (LAYERS, kept // PAGE_SIZE, KV_HEADS, PAGE_SIZE, DIM)
    out = [torch.empty(shape, dtype=DTYPE) for _ in range(2)]
    slots = torch.arange(kept)

    def op(targets, impl):
        ops.select_(*targets, slots, p["k_cache"], p["v_cache"], source, rows, rotation, impl=impl)

    def compiled(targets=out):
        op(targets, "cpp")

    def plain(targets=out):
        pages, offsets = source // PAGE_SIZE, source % PAGE_SIZE
        for cache, target, keys in zip((p["k_cache"], p["v_cache"]), targets, (1, 0), strict=True):
            found = cache[:, pages, :, offsets].permute(1, 0, 2, 3)  # [layers, tokens, heads, dim]
            if keys:
                parts = found.chunk(ROWS, dim=1)
                turns = (turned(part, rotation[:, n]) for n, part in enumerate(parts))
                found = torch.cat(list(turns), dim=1)
            target.copy_(found.unflatten(1, (-1, PAGE_SIZE)).transpose(2, 3))

    work = {"cpp": compiled, "torch": plain}[way]

    def check():
        have, want = ([torch.full_like(one, torch.nan) for one in out] for _ in range(2))
        work(have)
        op(want, "reference")
        close(have[0], want[0])
        assert torch.equal(have[1], want[1])

    rounds = 15 if way == "cpp" else 5
    measure(work, check=check, rounds=rounds, moved=4 * out[0].nbytes, tokens=kept)
