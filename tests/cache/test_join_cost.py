"""Joining touches no key, and costs the same whatever the length."""

import sys

import pytest
import torch

from agentprim.cache import move
from agentprim.cache.attach import attach
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B, Q
from tests.cache.test_recycled_pages import write
from tests.support.oracle import blocked_logits
from tests.support.tiny import build


@pytest.fixture
def poisoned(monkeypatch):
    """Let everything that moves or copies a key raise."""

    def poison(*_, **__):
        raise AssertionError("a key was touched")

    def set_it():
        for name in ("rotate_", "materialize_", "select_", "store_"):
            monkeypatch.setattr(f"agentprim_kernels.{name}", poison)
            monkeypatch.setattr(f"agentprim_kernels.{name.rstrip('_')}.{name}", poison)
        for name in ("rotate_", "materialize_", "select_"):
            monkeypatch.setattr(move, name, poison)
        for name in ("cat", "stack", "empty", "zeros", "Tensor.clone", "Tensor.copy_"):
            monkeypatch.setattr(f"torch.{name}", poison)

    yield set_it
    monkeypatch.undo()


@pytest.mark.parametrize("offsets", ["consecutive", "shared"])
def test_joining_moves_and_copies_nothing(offsets, poisoned, monkeypatch, pair, pool_for, read):
    model, twin = pair("llama")
    empty = KV(pool_for(model))
    kv_b, kv_a = read(model, B, empty)[0], read(model, A, empty)[0]
    free = empty.pool.num_free
    poisoned()
    with pytest.raises(AssertionError, match="a key was touched"):
        kv_a.materialize()
    joined = join([kv_b, kv_a], offsets=offsets)
    fork = joined.fork()[3:].moved(2)
    monkeypatch.undo()
    assert empty.pool.num_free == free
    assert fork.spans[-1].pages == kv_a.spans[0].pages
    logits = read(model, Q, joined)[1]
    expected = blocked_logits(twin, [B, A], Q)
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


def work(function):
    """Count the calls that a function makes, of Python and of C."""
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        result = function()
    finally:
        sys.setprofile(None)
    return calls, result


@pytest.fixture(scope="module")
def model():
    return build("llama", max_position_embeddings=32768)


@pytest.fixture
def long_pool(model):
    return attach(model).new_pool(20000, page_size=16)


def test_joining_512_or_8192_tokens_is_the_same_work(long_pool):
    counts = set()
    head = write(long_pool, KV(long_pool), B)
    for length in (512, 8192):
        kv = joined = None
        kv = write(long_pool, KV(long_pool), [i % 97 for i in range(length)])
        free = long_pool.num_free
        calls, joined = work(lambda kv=kv: join([head, kv, kv.fork()]))
        counts.add(calls)
        assert (len(joined.spans), long_pool.num_free) == (3, free)
    assert len(counts) == 1
    assert max(counts) < 300


def test_a_kv_that_was_decoded_joins_like_one_that_was_prefilled(long_pool, model):
    """Pages that came one by one are held by one lease when they are handed over."""
    counts = []
    for steps in (10, 70):
        cache = PagedCache(model, kv=KV(long_pool))
        with torch.no_grad():
            for step in range(steps):
                model(input_ids=torch.tensor([[step % 97]]), past_key_values=cache)
        kv = cache.kv()
        assert len(kv.spans) == 1
        assert len(kv.spans[0].leases) == 1
        counts.append(work(lambda kv=kv: join([kv, kv]))[0])
    assert counts[0] == counts[1]


def test_turns_of_a_conversation_stay_one_span_with_one_lease(long_pool):
    kv = KV(long_pool)
    for turn in range(12):
        kv = write(long_pool, kv, [turn] * 7)
    assert len(kv.spans) == 1
    assert len(kv.spans[0].leases) == 1
    kv = kv[: len(kv)]
    assert long_pool.num_pages - long_pool.num_free == -(-84 // 16)
