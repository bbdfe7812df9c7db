"""Rotation in place happens only where nobody else can see it."""

import pytest
import torch

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B, Q


@pytest.fixture
def model(pair):
    return pair("llama")[0]


@pytest.fixture
def kv(model, pool_for, read):
    return read(model, A, KV(pool_for(model)))[0]


def bytes_of(kv):
    """Copy what the slots of a KV hold, keys and values of every layer."""
    size, found = kv.pool.page_size, []
    for span in kv.spans:
        at = span.first_slot + torch.arange(span.length)
        pages = torch.tensor(span.pages)[at // size]
        found += [
            cache[:, pages, :, at % size]
            for group in kv.pool.groups
            for cache in (group.k_cache, group.v_cache)
        ]
    return found


def shares(kv, model):
    yield kv.fork()
    yield kv[2:5]
    yield kv.select([0, 4, 5])
    yield join([kv, kv[:3]])
    yield kv.moved(0)
    yield PagedCache(model, kv=kv)


def test_shared_pages_are_refused_and_stay_as_they_were(kv, model):
    for other in shares(kv, model):
        moved = kv.moved(5)
        before = bytes_of(kv)
        with pytest.raises(ValueError, match=r"got shared pages; use kv.materialize\(\)"):
            moved.rotate_()
        assert all(map(torch.equal, before, bytes_of(kv)))
        moved.release()
        del other


def test_private_pages_are_turned_and_read_the_same(kv, model, read):
    expected = read(model, Q, kv.moved(5))[1]
    own = kv.moved(5)
    kv.release()
    values = bytes_of(own)[1::2]
    own.rotate_()
    assert [span.delta for span in own.spans] == [0]
    assert all(map(torch.equal, values, bytes_of(own)[1::2]))
    logits = read(model, Q, own)[1]
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


def test_several_spans_on_one_page_are_still_one_owner(kv, model, read):
    cut = kv.select([0, 2, 3, 9]).moved(4)
    expected = read(model, Q, cut)[1]
    kv.release()
    cut.rotate_()
    logits = read(model, Q, cut)[1]
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


TWICE = {
    "joined with itself": lambda kv: join([kv, kv]),
    "overlapping slices": lambda kv: join([kv[:8], kv[4:]]),
    "merged into one span": lambda kv: join([kv[:8], kv[:8]], rotate=False),
}


@pytest.mark.parametrize("twice", TWICE.values(), ids=TWICE)
def test_a_key_that_a_kv_holds_twice_is_not_turned_twice(twice, kv, model, read):
    moved = twice(kv).moved(2)
    kv.release()
    expected = read(model, Q, moved)[1]
    before = bytes_of(moved)
    with pytest.raises(ValueError, match=r"got a key twice; use kv.materialize\(\)"):
        moved.rotate_()
    assert all(map(torch.equal, before, bytes_of(moved)))
    copy = moved.materialize()
    copy.rotate_()
    logits = read(model, Q, copy)[1]
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


def test_a_kv_that_grew_in_a_cache_is_turned_after_the_cache_is_gone(model, pool_for, read):
    kv, _ = read(model, B, KV(pool_for(model)))
    longer, _ = read(model, A, kv)  # goes on in the last page of kv
    assert len(longer.spans) == 1
    with pytest.raises(ValueError, match="shared pages"):
        longer.rotate_()
    kv.release()
    longer.rotate_()
    assert longer.ids == B + A
