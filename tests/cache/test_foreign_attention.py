"""Attention that cannot read spans gets dense tensors; new keys alone never reach it."""

import copy
import types

import pytest
import torch
from transformers import DynamicCache, LlamaForCausalLM

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.hf import PagedCache, attach
from tests.cache.conftest import A, B, Q
from tests.support.oracle import blocked_logits
from tests.support.tiny import build


def logits(model, pieces, cache):
    with torch.no_grad():
        found = [
            model(input_ids=torch.tensor([ids]), past_key_values=cache).logits[0] for ids in pieces
        ]
    return torch.cat(found)


def check(got, expected):
    assert (got - expected).abs().max() <= 1e-5 * expected.abs().max()


def copy_keys(model, what):
    """Let every attention layer lose the handle: it copies what the cache returned."""
    for layer in model.model.layers:
        attention = layer.self_attn

        def forward(self, *args, inner=attention.forward, **kwargs):
            name = "cache" if kwargs.get("cache") is not None else "past_key_values"
            cache = kwargs.get(name)
            return inner(*args, **{**kwargs, name: _Copying(cache, what)} if cache else kwargs)

        attention.forward = types.MethodType(forward, attention)


class _Copying:
    def __init__(self, cache, what):
        self.cache, self.what = cache, what

    def update(self, *args, **kwargs):
        keys, values = self.cache.update(*args, **kwargs)
        return self.what(keys), values


@pytest.mark.parametrize(
    "what", [torch.clone, lambda keys: keys * 1.0, lambda keys: keys.contiguous().view(keys.shape)]
)
def test_a_model_that_copies_its_keys_takes_the_dense_path(what):
    model, twin = build("llama"), build("llama")
    copy_keys(model, what)
    assert not attach(model).layout.spans
    expected = twin(input_ids=torch.tensor([B + A])).logits[0]
    for pieces in ([B + A], [B, A], [B, A[:1], A[1:2], A[2:]]):
        check(logits(model, pieces, PagedCache(model)), expected)
    pool = attach(model).new_pool(256)
    parts = []
    for ids in (B, A):
        cache = PagedCache(model, kv=KV(pool))
        logits(model, [ids], cache)
        parts.append(cache.kv())
    cache = PagedCache(model, kv=join(parts))
    check(logits(model, [Q], cache), blocked_logits(twin, [B, A], Q))


def test_keys_that_lose_their_handle_later_are_an_error_not_a_wrong_answer():
    model = build("llama")
    attach(model)
    copy_keys(model, torch.clone)
    cache = PagedCache(model)
    free = cache.pool.num_free
    with pytest.raises(RuntimeError, match="keys must reach attention as PagedCache.update"):
        logits(model, [B], cache)
    assert (cache.pool.num_free, cache.rows) == (free, None)


@pytest.mark.parametrize("other", ["sdpa", "eager"])
def test_another_implementation_set_later_gets_dense_tensors(other):
    """With a single new id there may be no mask at all: nothing else would fail."""
    model, twin = build("llama"), build("llama")
    cache = PagedCache(model)
    assert attach(model).layout.spans
    expected = twin(input_ids=torch.tensor([B + A])).logits[0]
    start = logits(model, [B], cache)
    model.set_attn_implementation(other)
    check(torch.cat([start, logits(model, [A[:1], A[1:5]], cache)]), expected[:12])
    model.set_attn_implementation("agentprim")
    check(logits(model, [A[5:]], cache), expected[12:])


def test_two_models_of_one_config():
    """`set_attn_implementation` flips both; each keeps caches of both kinds right."""
    one = build("llama")
    two = LlamaForCausalLM(one.config).eval()
    two.load_state_dict(build("llama", seed=1).state_dict())
    expected = [copy.deepcopy(m)(input_ids=torch.tensor([B + A])).logits[0] for m in (one, two)]
    attach(one)
    for model, right in zip((one, two), expected, strict=True):
        check(logits(model, [B, A], DynamicCache()), right)
    for _ in range(2):
        for model, right in zip((two, one), reversed(expected), strict=True):
            check(logits(model, [B, A[:1], A[1:]], PagedCache(model)), right)
            check(logits(model, [B, A[:1], A[1:]], DynamicCache()), right)
            check(model(input_ids=torch.tensor([B + A])).logits[0], right)
