"""A stored prompt stays what it is, whatever is generated on top of it.

Public reports: MemTensor/MemOS #2301, huggingface/transformers #37078 and #32681.
"""

import copy

import pytest
import torch

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B, Q
from tests.cache.test_in_place import bytes_of

GREEDY = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}


def ask(model, kv, ids):
    cache = PagedCache(model, kv=kv)
    return model.generate(**cache.inputs(ids), past_key_values=cache, **GREEDY)[0, -4:].tolist()


def unchanged(kv, before):
    return len(kv) == len(B) and all(map(torch.equal, before, bytes_of(kv)))


@pytest.mark.parametrize("grad", [False, True], ids=["inference", "grad mode"])
def test_a_stored_prompt_never_grows(grad, pair, pool_for):
    model, _ = pair("llama")
    cache = PagedCache(model, kv=KV(pool_for(model)))
    with torch.set_grad_enabled(grad):
        model(input_ids=torch.tensor([B]), past_key_values=cache)
    kv = cache.kv()
    del cache
    before = bytes_of(kv)
    system = join([kv])  # a hand-over of a single part
    first = ask(model, system, A)
    assert unchanged(kv, before)
    other = ask(model, system, Q)
    assert unchanged(kv, before)
    whole = torch.tensor([B + A])
    plain = model.generate(whole, use_cache=False, **GREEDY)[0, -4:].tolist()
    assert ask(model, system, A) == first == plain
    assert ask(model, copy.deepcopy(kv), Q) == other
    assert unchanged(kv, before) and unchanged(system, before)


def test_two_caches_share_a_prompt_while_both_grow(pair, pool_for, read):
    model, twin = pair("llama")
    kv, _ = read(model, B, KV(pool_for(model)))
    before = bytes_of(kv)
    caches, asked = [PagedCache(model, kv=kv), PagedCache(model, kv=kv)], [list(A), list(Q)]
    for _ in range(2):
        for cache, ids in zip(caches, asked, strict=True):
            new = ids[len(cache.kv()) - len(B) :]
            out = model.generate(**cache.inputs(new), past_key_values=cache, **GREEDY)
            expected = twin.generate(torch.tensor([B + ids]), use_cache=False, **GREEDY)
            assert torch.equal(out, expected)
            ids += out[0, -4:].tolist()
            assert unchanged(kv, before)


def test_a_copied_model_has_caches_of_its_own(pair, pool_for, read):
    model, _ = pair("llama")
    kv, _ = read(model, B, KV(pool_for(model)))
    before = bytes_of(kv)
    expected = ask(model, kv, A)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin.lm_head.weight.neg_()
    own = PagedCache(twin)
    twin(input_ids=torch.tensor([B]), past_key_values=own)
    turned = twin.generate(torch.tensor([B + A]), past_key_values=own, **GREEDY)[0, -4:].tolist()
    assert turned == twin.generate(torch.tensor([B + A]), **GREEDY)[0, -4:].tolist() != expected
    with pytest.raises(ValueError, match="kv must belong to this model"):
        PagedCache(twin, kv=kv)
    assert twin.prepare_inputs_for_generation.__wrapped__.__self__ is twin
    assert ask(model, kv, A) == expected and unchanged(kv, before)
