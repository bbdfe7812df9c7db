"""Latent attention: what turns is a slice beside the latent, in the tensor called values."""

import pytest
import torch
from transformers import DynamicCache

from agentprim.cache.attach import attach
from agentprim.cache.dense import join_caches, relocate
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from tests.cache.conftest import A, B, Q
from tests.cache.test_join_oracle import as_spans, materialized, rotated_in_place
from tests.support.keys import compute
from tests.support.oracle import blocked_logits


@pytest.fixture
def latent(pair):
    model, twin = pair("deepseek_v3")
    assert all(rope.in_values for rope in attach(model).layout.rope.layers)
    return model, twin


@pytest.mark.parametrize("way", [as_spans, rotated_in_place, materialized])
def test_query_on_joined_latents_equals_blocked_forward(way, latent, pool_for, read):
    model, twin = latent
    pool = pool_for(model)
    kv_b, kv_a = (read(model, ids, KV(pool))[0] for ids in (B, A))
    _, logits = read(model, Q, way(join([kv_b, kv_a])))
    expected = blocked_logits(twin, [B, A], Q)
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


def test_without_its_move_the_slice_is_missed(latent, pool_for, read):
    model, twin = latent
    pool = pool_for(model)
    parts = [read(model, ids, KV(pool))[0] for ids in (B, A)]
    _, logits = read(model, Q, join(parts, rotate=False))
    assert (logits - blocked_logits(twin, [B, A], Q)).abs().max() > 0.01


def test_dense_caches_keep_the_names_of_the_model(latent, pool_for, read):
    model, twin = latent
    kv, _ = read(model, A, KV(pool_for(model)))
    latents, slices, _ = compute(twin, torch.tensor([A]), 0)
    for layer, keys, values in zip(kv.to_cache().layers, latents, slices, strict=True):
        torch.testing.assert_close(layer.keys, keys)
        torch.testing.assert_close(layer.values, values)
    _, there, _ = compute(twin, torch.tensor([A]), 40)
    for cache in (relocate(_fill(twin, A), 40, model), kv.moved(40).to_cache()):
        for layer, keys, values in zip(cache.layers, latents, there, strict=True):
            torch.testing.assert_close(layer.keys, keys, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(layer.values, values, rtol=1e-4, atol=1e-4)


def test_joined_dense_caches_equal_blocked_forward(latent):
    model, twin = latent
    cache = join_caches([_fill(twin, B), _fill(twin, A)], model)
    with torch.no_grad():
        logits = twin(input_ids=torch.tensor([Q]), past_key_values=cache).logits[0]
    expected = blocked_logits(twin, [B, A], Q)
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


def test_offloaded_latents_come_back(latent, pool_for, read):
    model, _ = latent
    kv, _ = read(model, A, KV(pool_for(model)))
    _, expected = read(model, Q, kv)
    _, logits = read(model, Q, kv.offload().restore())
    assert torch.equal(logits, expected)


def _fill(model, ids):
    cache = DynamicCache()
    with torch.no_grad():
        model(input_ids=torch.tensor([ids]), past_key_values=cache)
    return cache
