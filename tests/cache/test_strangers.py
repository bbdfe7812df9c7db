"""A KV is used only with the model, dtype and pool that it belongs to."""

import pytest
import torch

from agentprim.cache.attach import attach
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B
from tests.support.tiny import build


@pytest.mark.parametrize("other", ["another model", "another dtype", "another pool"])
def test_a_stranger_is_refused_and_nothing_is_lost(other, pair, pool_for, read):
    model, _ = pair("llama")
    kv, _ = read(model, A, KV(pool_for(model)))
    owner = {
        "another model": lambda: build("qwen3"),
        "another dtype": lambda: build("llama", dtype=torch.bfloat16),
        "another pool": lambda: model,
    }[other]()
    stranger, _ = read(owner, B, KV(attach(owner).new_pool(64, page_size=4)))
    frees = kv.pool.num_free, stranger.pool.num_free
    for parts in ([kv, stranger], [stranger, kv]):
        with pytest.raises(ValueError, match="got a KV of another pool of"):
            join(parts)
        with pytest.raises(ValueError, match="got a KV of another"):
            PagedCache(model, kv=parts)
    if owner is not model:
        with pytest.raises(ValueError, match="kv must belong to this model, got a KV of another"):
            PagedCache(owner, kv=kv)
    assert frees == (kv.pool.num_free, stranger.pool.num_free)
    assert read(model, B, kv)[0].ids == A + B


def test_what_is_no_kv_is_refused(pair, pool_for, read):
    model, _ = pair("llama")
    kv, _ = read(model, A, KV(pool_for(model)))
    for wrong in (kv.to_cache(), "text", 3):
        with pytest.raises(TypeError, match=r"kvs\[1\] must be a KV"):
            join([kv, wrong])
        with pytest.raises(TypeError, match="must be a KV, got"):
            PagedCache(model, kv=[wrong])
    with pytest.raises(ValueError, match="at least one KV"):
        join([])
    with pytest.raises(ValueError, match="offsets must be one of"):
        join([kv], offsets="overlapping")
