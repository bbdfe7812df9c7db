"""Rotate the stored keys of 4,096 tokens in place."""

import pytest

import agentprim_kernels as ops
from bench.pools import close, pool, turned

TOKENS = 4096


@pytest.mark.parametrize("way", ["cpp", "torch"])
def test_rotate(measure, way):
    p = pool(TOKENS)
    keys, tables = p["k_cache"], (p["page_table"], p["spans"], p["rotation"])

    def compiled(target=keys):
        ops.rotate_(target, *tables, impl="cpp")

    def plain(target=keys):
        target.copy_(turned(target, p["rotation"][:, 0]))

    work = {"cpp": compiled, "torch": plain}[way]

    def check():
        have, want = keys.clone(), keys.clone()
        work(have)
        ops.rotate_(want, *tables, impl="reference")
        close(have, want)

    rounds = 15 if way == "cpp" else 5
    measure(work, check=check, rounds=rounds, moved=2 * keys.nbytes, tokens=TOKENS)
