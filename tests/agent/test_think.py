"""Thinking: read, step, close the turn, and hand over."""

import pytest

from agentprim import Agent, Engine
from tests.agent.crew import SHORT, agent, count_tokens, opening, same, turn
from tests.engine.templates import tokenizer
from tests.support.tiny import build


def test_a_thought_is_prompt_steps_and_a_closed_turn():
    one = agent("a")
    out = one.think("why?", steps=3)
    ids = [*one.system_kv.ids, *turn(one, "why?"), -1, -1, -1, *one.chat.close()]
    assert out == "" and out.finish == "handover" and out.kv.ids == ids
    assert out.reply_start == len(ids) - 3 - len(one.chat.close())
    read = one.engine.prefill(turn(one, "why?"), one.system_kv)
    thought = one.engine.latent(read, 3)
    same(out.hidden, thought.hidden, 1e-3)
    same(out.kv.hidden, one.engine.prefill(one.chat.close(), thought).hidden, 1e-3)


@pytest.mark.parametrize("samples", [1, 2])
@pytest.mark.parametrize("join", ["relocate", "append"])
def test_reading_alone_takes_no_step_and_opens_no_reply(join, samples):
    one, sender = agent("a"), agent("another")("how?", **SHORT)
    out = one.think("why?", inner="prefill", samples=samples, context=[sender], join=join)
    out = out if samples == 1 else out[1]
    asked = turn(one, "why?")[: -len(opening(one))]
    assert opening(one) and out.kv.ids[out.reply_start :] == asked
    before = out.kv[: out.reply_start]
    same(out.hidden, one.engine.prefill(turn(one, "why?"), before).hidden)
    told = agent("another")("so?", context=[out], carry="reply", **SHORT)
    assert told.trace[0].detail["tokens"] == len(asked)


def test_thinking_aloud_is_a_call():
    one = agent("a")
    out = one.think("why?", inner="text", steps=9, **SHORT)
    assert out == one("why?", **SHORT) and out.finish in ("stop", "length")
    hot = {"temperature": 2.0, **SHORT}
    assert one.think("why?", inner="text", seed=3, **hot) == one("why?", seed=3, **hot)


def test_a_template_that_closes_no_turn_hands_over_all_the_same():
    one = Agent(Engine(build("qwen3"), tokenizer("no_close"), pool_tokens=512), "Be good.")
    out = one.think("why?", steps=2)
    assert out.kv.ids[-2:] == [-1, -1]
    assert one("so?", context=[out], **SHORT).usage.reused > 0


def test_a_batch_thinks_like_single_calls():
    one = agent("a")
    sender = agent("b")("how?", **SHORT)
    options = {"steps": 3, "spread": 0.2, "seed": 4, "samples": 2, "context": [sender]}
    batch = one.think(["why?", "what is it?"], **options)
    for number, question in enumerate(("why?", "what is it?")):
        alone = one.think(question, **options)
        for a, b in zip(batch[2 * number : 2 * number + 2], alone, strict=True):
            assert a.kv.ids == b.kv.ids
            same(a.hidden, b.hidden, 1e-2)
    assert float((batch[0].hidden - batch[1].hidden).abs().max()) > 0.1


@pytest.mark.parametrize("inner", ["latent", "prefill", "text"])
@pytest.mark.parametrize("join", ["relocate", "append"])
@pytest.mark.parametrize("samples", [1, 2])
def test_each_token_is_counted_once_where_it_was_computed(inner, join, samples):
    a, one = agent("a"), agent("another")
    sender = a("how?", **SHORT)
    more = SHORT if inner == "text" else {}
    counts, hook = count_tokens(one.engine.model)
    try:
        outs = one.think("why?", inner=inner, steps=4, join=join, context=[sender],
                         samples=samples, **more)  # fmt: skip
    finally:
        hook.remove()
    outs = outs if samples > 1 else [outs]
    total = sum((out.usage for out in outs[1:]), outs[0].usage).total
    assert total.prefilled + total.decoded + total.latent == sum(counts)
    back = len(opening(one)) if inner == "prefill" else 0
    for out in outs:
        cost = out.usage.total
        assert cost.prefilled + cost.decoded + cost.latent + cost.reused == len(out.kv) + back
    assert outs[0].usage.latent == (4 if inner == "latent" else 0)
    assert outs[0].usage.decoded == len(outs[0].ids)
    assert outs[0].usage.generative_calls == (1 if inner == "text" else 0)
    moved = len(sender.kv) - sender.system_end if join == "relocate" else 0
    assert outs[0].usage.relocated == moved
