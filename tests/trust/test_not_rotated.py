"""`rotate=False` is an experiment: it warns once a call, and the trace says so."""

import warnings

import pytest
from transformers import DynamicCache

import agentprim as ap
from agentprim.errors import NotRotated
from agentprim.hf import join_caches

SHORT = {"max_new_tokens": 2}


def warned(call) -> int:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return sum(issubclass(one.category, NotRotated) for one in found)


@pytest.fixture
def agent(make_engine):
    return ap.Agent(make_engine(), "You answer.")


def test_a_call_without_rotation_warns_once_however_many_rows_it_has(agent):
    read = agent.think("A note.", inner="prefill")
    asked = ["One?", "Two?", "Three?"]
    assert warned(lambda: agent(asked, context=[read], rotate=False, **SHORT)) == 1
    assert warned(lambda: agent.think("One?", inner="prefill", context=[read], rotate=False)) == 1
    assert warned(lambda: agent(asked, context=[read], **SHORT)) == 0


def test_its_trace_says_so(agent):
    read = agent.think("A note.", inner="prefill")
    with pytest.warns(NotRotated, match="wrong on purpose"):
        out = agent("One?", context=[read], rotate=False, **SHORT)
    assert out.trace[0].to_dict()["rotate"] is False
    assert agent("One?", context=[read], **SHORT).trace[0].to_dict()["rotate"] is True


def test_joins_of_one_s_own_warn_too(agent):
    kvs = [agent.engine.prefill([5, 6, 7]), agent.engine.prefill([8, 9])]
    assert warned(lambda: ap.join(kvs, rotate=False)) == 1
    assert warned(lambda: ap.join(kvs)) == 0
    caches = [kv.to_cache() for kv in kvs]
    assert isinstance(caches[0], DynamicCache)
    assert warned(lambda: join_caches(caches, agent.engine.model, rotate=False)) == 1


def test_measuring_it_on_purpose_warns_nobody(make_engine, plan):
    assert warned(lambda: ap.verify(make_engine(), plan=plan[1:2])) == 0
