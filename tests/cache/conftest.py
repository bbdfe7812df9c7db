"""Tiny models prepared for paged caches, beside their untouched twins, built once each."""

import functools

import pytest
import torch

from agentprim.cache.attach import attach
from agentprim.cache.hf import PagedCache
from tests.support.tiny import build

B = [5, 9, 2, 33, 41, 7, 8]
A = [10, 11, 60, 13, 80, 15, 16, 4, 18, 19, 20]
Q = [21, 22, 3, 24, 25]


@functools.cache
def _pair(family):
    return build(family), build(family)


@pytest.fixture
def pair():
    """Return a function: family -> (prepared model, untouched twin)."""

    def make(family):
        model, twin = _pair(family)
        attach(model)
        return model, twin

    return make


@pytest.fixture
def pool_for():
    """Return a function: model -> a pool of its own whose pages are full of NaN."""

    def make(model, tokens=512, page_size=4):
        pool = attach(model).new_pool(tokens, page_size=page_size)
        for group in pool.groups:
            group.k_cache.fill_(float("nan"))
            group.v_cache.fill_(float("nan"))
        return pool

    return make


@pytest.fixture
def read():
    """Return a function that prefills ids behind a KV and gives the new KV and its logits."""

    def run(model, ids, kv, **options):
        cache = PagedCache(model, kv=kv, absolute=True)
        start = kv.next_position
        with torch.no_grad():
            output = model(
                input_ids=torch.tensor([ids]),
                attention_mask=torch.ones(1, len(kv) + len(ids), dtype=torch.long),
                position_ids=torch.arange(start, start + len(ids))[None],
                past_key_values=cache,
            )
        return cache.kv(), output.logits[0]

    return run
