"""A failed call changes nothing: rows as before, no page lost, everything still readable.

Public reports: ovg-project/kvcached #364, inference-sim/inference-sim #200, hyprstream/hyprstream
#1280 (pages lost by a failed allocation), vllm-project/vllm #53982.
"""

import pytest
import torch

from agentprim.cache.attach import attach
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.errors import PoolExhausted
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B, Q
from tests.cache.test_in_place import bytes_of
from tests.support.tiny import build


@pytest.fixture
def model(pair):
    return pair("llama")[0]


@pytest.fixture
def twin(pair):
    return pair("llama")[1]


@pytest.fixture
def pool(model):
    return attach(model).new_pool(32, page_size=4)  # 8 pages


def check(got, expected):
    assert (got - expected).abs().max() < 1e-4 * expected.abs().max()


def go_on(model, cache, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor(ids), past_key_values=cache).logits


def test_prefill_into_too_small_a_pool(model, twin, pool, read):
    held = read(model, A + B + Q, KV(pool))[0]  # 6 of 8 pages
    before = bytes_of(held)
    cache = PagedCache(model, kv=held)
    for ids in ([A + Q], [A + Q] * 2):
        with pytest.raises((PoolExhausted, ValueError)):
            go_on(model, cache, ids)
    with pytest.raises(PoolExhausted, match="requested 4 pages but only 2 are free"):
        go_on(model, cache, [A + Q])
    assert (pool.num_free, cache.rows[0].length, cache.kv().ids) == (2, 23, held.ids)
    assert all(map(torch.equal, before, bytes_of(held)))
    check(go_on(model, cache, [Q])[0], twin(input_ids=torch.tensor([held.ids + Q])).logits[0, 23:])
    del cache
    held.release()
    assert pool.num_free == 8


def test_an_empty_cache_does_not_remember_a_failed_batch(model, pool):
    cache = PagedCache(model, kv=[KV(pool)])
    with pytest.raises(PoolExhausted):
        go_on(model, cache, [list(range(33))])
    cache = PagedCache(model, pool_tokens=16)
    with pytest.raises(PoolExhausted):
        go_on(model, cache, [A, A])
    assert cache.rows is None
    assert cache.inputs([[1, 2], [3]])["input_ids"].shape == (2, 2)
    assert cache.rows is None
    go_on(model, cache, [A])
    assert cache.kv().ids == A


def test_decode_until_the_pool_is_full(model, twin, pool, read):
    kv = read(model, A, KV(pool))[0]
    cache = PagedCache(model, kv=kv)
    with pytest.raises(PoolExhausted, match="requested 1 pages but only 0 are free"):
        model.generate(
            **cache.inputs(B), past_key_values=cache, max_new_tokens=30, do_sample=False,
            pad_token_id=0, eos_token_id=None,
        )  # fmt: skip
    grown = cache.kv()
    assert (len(grown), pool.num_free) == (32, 0)
    expected = twin.generate(
        torch.tensor([A + B]), max_new_tokens=14, do_sample=False, pad_token_id=0, eos_token_id=None
    )
    assert grown.ids == expected[0].tolist()
    cache.crop(-4)
    grown.release()
    text = torch.tensor([expected[0, :28].tolist() + Q[:4]])
    check(go_on(model, cache, [Q[:4]])[0], twin(input_ids=text).logits[0, 28:])
    del cache, grown
    kv.release()
    assert pool.num_free == 8


@pytest.mark.parametrize("copy", ["materialize", "select"])
def test_a_copy_that_does_not_fit(copy, model, twin, pool, read):
    kv_b, kv_a = read(model, B, KV(pool))[0], read(model, A, KV(pool))[0]
    joined = join([kv_b, kv_a, kv_a[:6]])  # 24 tokens; 3 of 8 pages are free
    spans, before, free = joined.spans, bytes_of(joined), pool.num_free
    with pytest.raises(PoolExhausted) as error:
        joined.materialize() if copy == "materialize" else joined.select([*range(0, 24, 2), 23])
    assert (error.value.requested, error.value.free) == ((6 if copy == "materialize" else 4), 3)
    del error
    assert pool.num_free == free and joined.spans is spans
    assert all(map(torch.equal, before, bytes_of(joined)))
    del spans
    for kv in (kv_b, kv_a, joined):
        kv.release()
    assert pool.num_free == 8


def test_rows_get_all_their_pages_or_none(model, twin, pool, read):
    kv_b, kv_a = read(model, B, KV(pool))[0], read(model, A, KV(pool))[0]  # 5 of 8 pages
    cache = PagedCache(model, kv=[kv_b, kv_a])
    ids = torch.tensor([[0] * 6 + Q, A])
    with pytest.raises(PoolExhausted, match="requested 4 pages but only 3 are free"):
        mask = torch.ones(2, 22, dtype=torch.long)
        mask[0, :10] = 0
        model(input_ids=ids, attention_mask=mask, past_key_values=cache)
    assert [row.length for row in cache.rows] == [7, 11]
    assert (pool.num_free, cache.kv(0).ids, cache.kv(1).ids) == (3, B, A)
    out = go_on(model, cache, [Q, Q])
    for row, ids in enumerate((B + Q, A + Q)):
        check(out[row], twin(input_ids=torch.tensor([ids])).logits[0, -5:])


class Broken(RuntimeError):
    pass


def break_in(module, *, before=False):
    """Let a module raise, before or after what it does; return the handle that mends it."""

    def fail(*_):
        raise Broken

    register = module.register_forward_pre_hook if before else module.register_forward_hook
    return register(fail)


PLACES = {
    "first layer, before": lambda model: (model.model.layers[0], True),
    "first keys": lambda model: (model.model.layers[0].self_attn.k_proj, False),
    "first values": lambda model: (model.model.layers[0].self_attn.v_proj, False),
    "second layer": lambda model: (model.model.layers[1].mlp, False),
    "last layer, keys stored": lambda model: (model.model.layers[2].mlp, False),
    "head": lambda model: (model.lm_head, False),
    "whole model, before": lambda model: (model, True),
}


@pytest.mark.parametrize("path", ["handle", "dense"])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_forward_pass_that_breaks_is_taken_back(place, path, twin):
    model = build("llama")
    if path == "dense":
        model._can_set_attn_implementation = lambda: False
    pool = attach(model).new_pool(32, page_size=4)
    cache = PagedCache(model, kv=KV(pool))
    go_on(model, cache, [B])
    free, held = pool.num_free, cache.rows[0].length
    module, before = place(model)
    handle = break_in(module, before=before)
    for ids in ([A], [A[:1]]):
        with pytest.raises(Broken):
            go_on(model, cache, ids)
        assert (pool.num_free, cache.rows[0].length) == (free, held)
        assert cache.get_seq_length() == len(B)
    handle.remove()
    check(go_on(model, cache, [A])[0], twin(input_ids=torch.tensor([B + A])).logits[0, 7:])
    assert cache.kv().ids == B + A
    del cache
    assert pool.num_free == 8


def test_a_broken_first_pass_leaves_an_empty_cache():
    model = build("llama")
    cache = PagedCache(model, pool_tokens=64)
    break_in(model.model.layers[1])
    with pytest.raises(Broken):
        go_on(model, cache, [A, A])
    assert (cache.rows, cache.get_seq_length(), cache.pool.num_free) == (None, 0, 4)


def test_a_call_with_wrong_arguments_keeps_the_pass_before(model, pool):
    cache = PagedCache(model, kv=KV(pool))
    go_on(model, cache, [B])
    with pytest.raises(TypeError):
        model(no_such_argument=1, input_ids=torch.tensor([A]), past_key_values=cache, labels=3)
    with pytest.raises(ValueError, match="attention_mask must have shape"):
        model(input_ids=torch.tensor([A]), past_key_values=cache, attention_mask=torch.ones(1, 11))
    assert cache.kv().ids == B


@pytest.mark.parametrize("family", ["gpt2", "bloom", "mamba"])
def test_a_model_that_cannot_be_prepared_is_left_as_it_was(family, monkeypatch):
    model = build(family)
    before = set(vars(model)), model.config._attn_implementation
    monkeypatch.setattr("agentprim.cache.attach._paged_fault", lambda *_: "it is only a test")
    with pytest.raises(Exception, match="uses .*: .*; its cache cannot be paged either$"):
        attach(model)
    assert (set(vars(model)), model.config._attn_implementation) == before
    hooks = [model.base_model._forward_pre_hooks, model._forward_pre_hooks, model._forward_hooks]
    assert not any(hooks)
