"""Swapping a paged or joined cache into `model.generate` gives the right tokens or one clear error.

Public reports: huggingface/transformers #47597, #36151 (mask length), #34232 (padding), #37078
(a stored cache grows).
"""

import pytest
import torch

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.hf import PagedCache, attach, join_caches, relocate
from tests.cache.conftest import A, B, Q
from tests.support.oracle import blocked_logits
from tests.support.tiny import build

FAMILIES = ["llama", "qwen3", "gemma3", "glm4", "gpt_neox", "cohere2", "mistral", "gpt_oss"]
GREEDY = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}


def row(ids):
    return torch.tensor([ids])


def uncached(twin, ids):
    return twin.generate(input_ids=row(ids), use_cache=False, **GREEDY)[0, len(ids) :].tolist()


def blocked(twin, parts, query):
    """Decode greedily on the oracle."""
    ids = list(query)
    for _ in range(GREEDY["max_new_tokens"]):
        ids.append(int(blocked_logits(twin, parts, ids)[-1].argmax()))
    return ids[len(query) :]


def generate(model, cache, **inputs):
    out = model.generate(**inputs, past_key_values=cache, **GREEDY)
    return out[:, -GREEDY["max_new_tokens"] :].tolist()


@pytest.fixture(params=[True, False], ids=["handle", "dense"])
def path(request, pair):
    """Return a function: family -> (model on this path, its twin)."""

    def make(family):
        model, twin = pair(family)
        if request.param:
            return model, twin
        model = build(family)
        model._can_set_attn_implementation = lambda: (
            False
        )  # as in families with their own attention
        assert not attach(model).layout.spans
        return model, twin

    return make


@pytest.mark.parametrize("family", FAMILIES)
def test_append_gives_the_tokens_of_the_uncached_run(family, path, pool_for, read):
    model, twin = path(family)
    kv, _ = read(model, B, KV(pool_for(model)))
    cache = PagedCache(model, kv=kv)
    assert generate(model, cache, **cache.inputs(A)) == [uncached(twin, B + A)]
    assert len(kv) == len(B)


@pytest.mark.parametrize("family", FAMILIES)
def test_relocate_gives_the_tokens_of_the_blocked_run(family, path, pool_for, read):
    model, twin = path(family)
    empty = KV(pool_for(model))
    joined = join([read(model, B, empty)[0], read(model, A, empty)[0]])
    cache = PagedCache(model, kv=joined)
    assert generate(model, cache, **cache.inputs(Q)) == [blocked(twin, [B, A], Q)]


@pytest.mark.parametrize("family", FAMILIES)
def test_three_rows_of_different_length(family, path, pool_for, read):
    model, twin = path(family)
    empty = KV(pool_for(model))
    kv_b, kv_a = read(model, B, empty)[0], read(model, A, empty)[0]
    cache = PagedCache(model, kv=[kv_b, join([kv_b, kv_a]), kv_a])
    got = generate(model, cache, **cache.inputs([A[:4], Q, Q[:2]]))
    assert got == [
        uncached(twin, B + A[:4]),
        blocked(twin, [B, A], Q),
        uncached(twin, A + Q[:2]),
    ]
    for index, ids in enumerate((B + A[:4], B + A + Q, A + Q[:2])):
        kv = cache.kv(index)
        assert kv.ids == ids + got[index][:-1]
        assert kv.next_position == len(kv)


@pytest.mark.parametrize("family", FAMILIES)
def test_gaps_do_not_move_the_tokens_behind_them(family, pair, pool_for, read):
    model, twin = pair(family)
    empty = KV(pool_for(model))
    kv, _ = read(model, A, empty)
    gapped = kv[3:]  # positions 3..10: generate counts 8 tokens, the next stands at 11
    assert (len(gapped), gapped.next_position) == (8, 11)
    cache = PagedCache(model, kv=gapped)
    absolute = generate(model, cache, **cache.inputs(Q))
    _, logits = read(model, Q, gapped)
    assert absolute[0][0] == int(logits[-1].argmax())
    assert cache.kv().next_position == 11 + len(Q) + 3
    again, _ = read(model, Q + absolute[0][:-1], gapped)
    assert again.spans[-1].delta == 0
    assert cache.kv().spans[-1].delta == 3
    _, one = read(model, [1, 2], cache.kv())
    _, two = read(model, [1, 2], again)
    assert (one - two).abs().max() < 1e-4 * two.abs().max()


def test_left_padded_batches_of_an_existing_loop(path):
    model, twin = path("llama")
    ids = torch.tensor([A[:9], [0] * 5 + B[:4]])
    mask = torch.tensor([[1] * 9, [0] * 5 + [1] * 4])
    cache = PagedCache(model)
    got = generate(model, cache, input_ids=ids, attention_mask=mask)
    assert got == [uncached(twin, A[:9]), uncached(twin, B[:4])]
    assert cache.kv(1).ids == B[:4] + got[1][:-1]


def test_each_row_of_a_padded_batch_equals_its_single_run(pair):
    model, twin = pair("mistral")
    ids = torch.tensor([A[:9], [0] * 5 + B[:4]])
    mask = torch.tensor([[1] * 9, [0] * 5 + [1] * 4])
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    cache = PagedCache(model)
    more = torch.tensor([Q[:3], Q[2:]])
    with torch.no_grad():
        model(input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache)
        longer = torch.cat([mask, torch.ones(2, 3, dtype=torch.long)], dim=1)
        follow = torch.tensor([[9, 10, 11], [4, 5, 6]])
        out = model(
            input_ids=more, attention_mask=longer, position_ids=follow, past_key_values=cache
        ).logits
        for index, text in enumerate((A[:9] + Q[:3], B[:4] + Q[2:])):
            alone = twin(input_ids=row(text)).logits[0, -3:]
            assert (out[index] - alone).abs().max() < 1e-5 * alone.abs().max()


def test_rows_without_mask_go_on_from_their_own_length(pair, pool_for, read):
    model, twin = pair("llama")
    empty = KV(pool_for(model))
    cache = PagedCache(model, kv=[read(model, A, empty)[0], read(model, B, empty)[0]])
    with torch.no_grad():
        out = model(input_ids=torch.tensor([Q, Q]), past_key_values=cache).logits
    for index, text in enumerate((A + Q, B + Q)):
        alone = twin(input_ids=row(text)).logits[0, -len(Q) :]
        assert (out[index] - alone).abs().max() < 1e-4 * alone.abs().max()


@pytest.mark.parametrize("how", ["full ids, full mask", "new ids, full mask", "full ids, no mask"])
def test_right_inputs_of_an_existing_loop(how, path, pool_for, read):
    model, twin = path("llama")
    kv, _ = read(model, B, KV(pool_for(model)))
    full, new = torch.ones(1, len(B) + len(A), dtype=torch.long), row(A)
    inputs = {
        "full ids, full mask": {"input_ids": row(B + A), "attention_mask": full},
        "new ids, full mask": {"input_ids": new, "attention_mask": full},
        "full ids, no mask": {"input_ids": row(B + A)},
    }[how]
    got = model.generate(**inputs, past_key_values=PagedCache(model, kv=kv), **GREEDY)
    assert got[0, -4:].tolist() == uncached(twin, B + A)


@pytest.mark.parametrize("mask", [None, len(A), 9])
def test_new_ids_with_a_short_mask_are_refused(mask, path, pool_for, read):
    model, _ = path("llama")
    kv, _ = read(model, B, KV(pool_for(model)))
    free = kv.pool.num_free
    inputs = {"input_ids": row(A)}
    if mask:
        inputs["attention_mask"] = torch.ones(1, mask, dtype=torch.long)
    with pytest.raises(ValueError, match=r"cache.inputs\(new_ids\)"):
        model.generate(**inputs, past_key_values=PagedCache(model, kv=kv), **GREEDY)
    assert kv.pool.num_free == free


def test_a_mask_that_is_too_long_is_refused_or_only_shifts_all_positions(path, pool_for, read):
    model, twin = path("llama")
    kv, _ = read(model, B, KV(pool_for(model)))
    inputs = {"input_ids": row(A), "attention_mask": torch.ones(1, 25, dtype=torch.long)}
    try:
        got = generate(model, PagedCache(model, kv=kv), **inputs)
    except ValueError as error:
        assert "cache.inputs(new_ids)" in str(error)
    else:
        assert got == [uncached(twin, B + A)]


def test_ids_that_the_cache_covers_are_refused(pair, pool_for, read):
    model, _ = pair("llama")
    kv, _ = read(model, B, KV(pool_for(model)))
    with pytest.raises(ValueError, match="must bring new tokens"):
        model.generate(row(B), past_key_values=PagedCache(model, kv=kv), **GREEDY)


def test_a_cache_that_is_still_empty_is_kept(pair):
    """An empty cache is falsy, and `cache or new()` loses it: see huggingface/peft #2106."""
    model, twin = pair("llama")
    cache = PagedCache(model)
    with torch.no_grad():
        out = model(input_ids=row(A), past_key_values=cache)
    kept = out["cache"] if "cache" in out else out["past_key_values"]
    assert kept is cache
    assert cache.kv().ids == A


def test_beam_search_forks_rows(pair, pool_for, read):
    model, twin = pair("llama")
    kv, _ = read(model, B, KV(pool_for(model)))
    cache = PagedCache(model, kv=[kv, kv, kv])
    beams = {**GREEDY, "num_beams": 3, "max_new_tokens": 5}
    inputs = {"input_ids": row(B + A), "attention_mask": torch.ones(1, 18, dtype=torch.long)}
    got = model.generate(**inputs, past_key_values=cache, **beams)
    expected = twin.generate(input_ids=row(B + A), **beams)
    assert torch.equal(got, expected)


@pytest.mark.parametrize("family", ["llama", "llama_yarn", "gemma3", "glm4", "cohere2"])
def test_plain_dynamic_caches_are_joined(family, pair):
    from transformers import DynamicCache

    model, twin = pair(family)
    caches = []
    for ids in (B, A):
        caches.append(DynamicCache())
        with torch.no_grad():
            twin(input_ids=row(ids), past_key_values=caches[-1])
    before = [layer.keys.clone() for cache in caches for layer in cache.layers]
    joined = join_caches(caches, model)
    got = twin.generate(row(B + A + Q), past_key_values=joined, **GREEDY)[0, -4:].tolist()
    assert got == blocked(twin, [B, A], Q)
    there_and_back = relocate(relocate(caches[1], 7, model), -7, model)
    after = [layer.keys for cache in caches for layer in cache.layers]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    for a, b in zip(there_and_back.layers, caches[1].layers, strict=True):
        assert (a.keys - b.keys).abs().max() < 1e-6 * b.keys.abs().max().clamp(min=1)
        assert torch.equal(a.values, b.values)
