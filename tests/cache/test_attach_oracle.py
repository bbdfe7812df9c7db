"""Attaching holds a joined cache to the oracle; a model on which that fails joins nothing."""

import copy

import pytest
import torch

from agentprim.cache import oracle
from agentprim.cache.attach import attach
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.cache.step import Step
from agentprim.errors import UnsupportedModel
from tests.cache.conftest import A, B, Q
from tests.support import oracle as support
from tests.support.tiny import build


@pytest.mark.parametrize("family", ["llama", "gemma3", "cohere2", "gpt_oss", "falcon", "gptj"])
def test_the_joined_cache_of_every_family_is_measured(family):
    assert attach(build(family)).layout.joined == "measured"


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3", "gpt_oss"])
def test_sixteen_bits_read_spans_too(family):
    layout = attach(build(family, dtype=torch.bfloat16)).layout
    assert (layout.spans, layout.joined) == (True, "measured")


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt_oss"])
def test_its_forward_pass_is_the_one_of_the_tests(family):
    model = build(family)
    found = oracle.blocked_logits(model, [B, A], Q)
    assert torch.allclose(found, support.blocked_logits(model, [B, A], Q), atol=1e-5)


def test_keys_that_land_one_place_off_forbid_joining_but_not_appending(monkeypatch):
    def off_by_one(kvs):
        kv = join(kvs)
        return KV(kv.pool, (kv.spans[0], *(span.moved(1) for span in kv.spans[1:])))

    monkeypatch.setattr(oracle, "join", off_by_one)
    layout = attach(build("llama")).layout
    with pytest.raises(UnsupportedModel, match="a query on a joined cache is off by .*append"):
        layout.require(1)
    assert layout.rope is None


def test_where_spans_do_more_than_the_model_itself_it_keeps_its_own_attention(monkeypatch):
    """Some attention functions leave soft-capping out, which spans would apply."""
    attend = Step.attend

    def capped(*args, **options):
        return attend(*args, **{**options, "softcap": 5.0})

    monkeypatch.setattr(Step, "attend", capped)
    monkeypatch.setattr("agentprim.cache.attach._paged_fault", lambda *_: None)
    layout = attach(build("llama")).layout
    assert layout.rope is not None and not layout.spans and layout.joined == "measured"


def test_a_model_that_does_not_heed_a_mask_is_not_claimed_to_be_measured():
    model = build("llama")
    plain = copy.deepcopy(model)

    def deaf(*args, attention_mask=None, **options):
        if attention_mask is not None and attention_mask.ndim == 4:
            attention_mask = None
        return type(plain).forward(model, *args, attention_mask=attention_mask, **options)

    model.forward = deaf
    note = attach(model).layout.joined
    assert note == "not measured: it does not heed a mask of four dimensions"
    attach(model).layout.require(5, first=0, last=4)


def test_a_model_that_refuses_such_a_mask_is_not_claimed_to_be_measured():
    model = build("llama")

    def strict(*args, attention_mask=None, **options):
        if attention_mask is not None and attention_mask.ndim == 4:
            raise ValueError("attention_mask must have 2 dimensions")
        return type(model).forward(model, *args, attention_mask=attention_mask, **options)

    model.forward = strict
    assert attach(model).layout.joined.startswith("not measured: it refuses a mask")
