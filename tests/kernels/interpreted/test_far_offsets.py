"""Caches of more than 2**31 elements: the memory is reserved, only the touched pages exist."""

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases

PAGES = 2**31 // (2 * 16 * 64) + 8


@pytest.fixture
def far():
    """Return a cache, its last pages, and the tables of one span there."""
    cache = torch.empty(1, PAGES, 2, 16, 64, dtype=torch.float16)
    assert cache.numel() > 2**31
    cache[:, -4:] = torch.randn(1, 4, 2, 16, 64, generator=cases.generator(0))
    table = torch.tensor([PAGES - 2, PAGES - 4], dtype=torch.int32)
    return cache, table, torch.tensor([[0, 3, 25, 0, -1]], dtype=torch.int32)


def near(cache, table):
    """Return the last pages as a small cache of their own, and its table."""
    return cache[:, -4:].clone(), table - (PAGES - 4)


def test_rotate_reaches_the_end(impl, far):
    cache, table, spans = far
    small, small_table = near(cache, table)
    turn = cases.rotation([9], 1, 64)
    ak.rotate_(cache, table, spans, turn, impl=impl)
    ak.rotate_(small, small_table, spans, turn, impl="reference")
    torch.testing.assert_close(cache[:, -4:], small, rtol=0, atol=4e-3)


def test_copies_reach_the_end(impl, far):
    cache, table, spans = far
    small, small_table = near(cache, table)
    turn = cases.rotation([9], 1, 64)
    slots = (PAGES - 1) * 16 + torch.arange(16)  # the last page
    new = torch.randn(1, 1, 2, 16, 64, generator=cases.generator(1)).half()
    ak.store_(cache, cache, slots[None], new, new, impl=impl)
    assert torch.equal(cache[0, -1], new[0, 0])

    out, want = torch.full((2, 2, 1, 1, 2, 25, 64), cases.NAN).half()
    ak.materialize_(*out, torch.arange(25), cache, cache, table, spans, turn, impl=impl)
    ak.materialize_(*want, torch.arange(25), small, small, small_table, spans, turn,
                    impl="reference")  # fmt: skip
    torch.testing.assert_close(out, want, rtol=0, atol=4e-3)

    source = (PAGES - 2) * 16 + torch.arange(16)
    ak.select_(cache, cache, slots, cache, cache, source, torch.zeros(16).int(),
               cases.rotation([0], 1, 64), impl=impl)  # fmt: skip
    assert torch.equal(cache[0, -1], cache[0, -2])


def test_attend_reaches_the_end(impl, far):
    cache, table, spans = far
    small, small_table = near(cache, table)
    query = torch.randn(1, 4, 1, 64, generator=cases.generator(2)).half()
    turn, starts = cases.rotation([9], 1, 64)[0], torch.tensor([0, 1], dtype=torch.int32)
    rest = (spans, turn, starts, torch.tensor([[24]], dtype=torch.int32))
    have = ak.attend(query, cache[0], cache[0], table, *rest, scale=0.1, impl=impl)
    want = ak.attend(query, small[0], small[0], small_table, *rest, scale=0.1, impl="reference")
    torch.testing.assert_close(have[0], want[0], rtol=0, atol=2e-3)
