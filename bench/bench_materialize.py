"""Materialize 4,096 tokens of 8 moved spans as a dense cache: gather, rotate and write at once."""

import pytest
import torch

import agentprim_kernels as ops
from bench.pools import DIM, DTYPE, KV_HEADS, LAYERS, PAGE_SIZE, close, pool, turned

TOKENS, SPANS = 4096, 8


@pytest.mark.parametrize("way", ["cpp", "torch"])
def test_materialize(measure, way):
    p = pool(TOKENS, SPANS)
    out = [torch.empty(LAYERS, 1, KV_HEADS, TOKENS, DIM, dtype=DTYPE) for _ in range(2)]
    slots = torch.arange(TOKENS)

    def op(targets, impl):
        ops.materialize_(*targets, slots, *p.values(), impl=impl)

    def compiled(targets=out):
        op(targets, "cpp")

    def plain(targets=out):
        pages, each = p["page_table"].long(), TOKENS // SPANS // PAGE_SIZE
        for cache, target, keys in zip((p["k_cache"], p["v_cache"]), targets, (1, 0), strict=True):
            parts = [
                cache[:, pages[n * each : (n + 1) * each]].transpose(1, 2).flatten(2, 3)
                for n in range(SPANS)
            ]  # [layers, heads, tokens, dim]
            if keys:
                parts = [turned(part, p["rotation"][:, n]) for n, part in enumerate(parts)]
            target[:, 0] = torch.cat(parts, dim=2)

    work = {"cpp": compiled, "torch": plain}[way]

    def check():
        have, want = ([torch.full_like(one, torch.nan) for one in out] for _ in range(2))
        work(have)
        op(want, "reference")
        close(have[0], want[0])
        assert torch.equal(have[1], want[1])

    moved = 2 * (p["k_cache"].nbytes + p["v_cache"].nbytes)
    rounds = 15 if way == "cpp" else 5
    measure(work, check=check, rounds=rounds, moved=moved, tokens=TOKENS, spans=SPANS)
