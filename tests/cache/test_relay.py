"""Keys that moved, once or often, equal those computed in their new place.

Public reports: MemTensor/MemOS #2315 (fragments merged without a new rotation) and
ggml-org/llama.cpp #3825 (a second shift forgets the first).
"""

import pytest
import torch

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from tests.cache.conftest import A, B, Q

FAMILIES = ["llama", "llama_yarn", "llama_llama3", "gemma3", "glm4", "gpt_neox", "cohere2"]
C = [44, 45, 46, 47, 48]


def layers(kv):
    return [(layer.keys[0], layer.values[0]) for layer in kv.to_cache().layers]


def computed(twin, ids, start):
    """Let the model compute keys and values at positions of its own."""
    from transformers import DynamicCache

    cache = DynamicCache()
    with torch.no_grad():
        twin(
            input_ids=torch.tensor([ids]), past_key_values=cache,
            position_ids=start + torch.arange(len(ids))[None],
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
        )  # fmt: skip
    return [(layer.keys[0], layer.values[0]) for layer in cache.layers]


def differ(one, two):
    return max(
        (float((a - b).abs().max() / b.abs().max().clamp(min=1)))
        for x, y in zip(one, two, strict=True)
        for a, b in zip(x, y, strict=True)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_handed_over_keys_equal_those_computed_there(family, pair, pool_for, read):
    model, twin = pair(family)
    empty = KV(pool_for(model))
    kv_b, kv_a = read(model, B, empty)[0], read(model, A, empty)[0]
    before = layers(kv_b), layers(kv_a)
    joined = join([kv_b, kv_a])
    assert (len(joined), joined.next_position, joined.ids) == (18, 18, B + A)
    at = [(keys[:, 7:], values[:, 7:]) for keys, values in layers(joined)]
    assert differ(at, computed(twin, A, 7)) < 1e-5
    for (_, values), (_, stored) in zip(at, before[1], strict=True):
        assert torch.equal(values, stored)
    for old, new in zip(before, (layers(kv_b), layers(kv_a)), strict=True):
        assert all(
            torch.equal(a, b)
            for x, y in zip(old, new, strict=True)
            for a, b in zip(x, y, strict=True)
        )


def test_offset_0_is_the_identity(pair, pool_for, read):
    model, _ = pair("llama")
    kv, _ = read(model, A, KV(pool_for(model)))
    for same in (join([kv]), kv.moved(0), join([KV(kv.pool), kv]), kv.materialize()):
        assert differ(layers(same), layers(kv)) == 0
    kv_moved = kv.moved(0)
    assert kv_moved.spans == kv.spans


@pytest.mark.parametrize("family", FAMILIES)
def test_a_relay_of_three_equals_one_shift(family, pair, pool_for, read):
    model, twin = pair(family)
    empty = KV(pool_for(model))
    kv_a, kv_b, kv_c = (read(model, ids, empty)[0] for ids in (A, B, C))
    second = join([kv_c, join([kv_b, kv_a])])
    relayed = second[len(C) + len(B) :]
    assert (relayed.spans[0].start, relayed.spans[0].delta) == (12, 12)
    direct = kv_a.moved(12)
    assert differ(layers(relayed), layers(direct)) == 0
    assert differ(layers(relayed), computed(twin, A, 12)) < 1e-5


@pytest.mark.parametrize("family", ["llama", "llama_yarn", "glm4"])
def test_shifts_add_up_lazily_and_after_each_flush(family, pair, pool_for, read):
    model, twin = pair(family)
    kv, _ = read(model, A, KV(pool_for(model)))
    original = layers(kv)
    assert differ(layers(kv.moved(7).moved(-7)), original) == 0
    lazy = kv.moved(7)
    pending = layers(lazy)
    assert lazy.moved(0).spans[0].delta == 7
    own = lazy.materialize()
    assert own.spans[0].delta == 0
    assert differ(layers(own), pending) == 0
    for by, total in ((5, 12), (0, 12), (-12, 0)):
        moved = own.moved(by)
        own.release()
        unflushed = layers(moved)
        moved.rotate_()
        assert [(span.position, span.delta) for span in moved.spans] == [(total, 0)]
        assert differ(layers(moved), unflushed) == 0
        assert differ(layers(moved), computed(twin, A, total)) < 1e-5
        own = moved
    assert differ(layers(own), original) < 3e-6


def test_the_order_of_parts_matters(pair, pool_for, read):
    model, _ = pair("llama")
    empty = KV(pool_for(model))
    kv_b, kv_a = read(model, B, empty)[0], read(model, A, empty)[0]
    one, two = read(model, Q, join([kv_b, kv_a]))[1], read(model, Q, join([kv_a, kv_b]))[1]
    assert (one - two).abs().max() > 0.1 * one.abs().max()
