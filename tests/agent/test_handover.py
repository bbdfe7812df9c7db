"""Handing over: what the receiver reads is one text in which the parts are blind to each other."""

import pytest
import torch

from agentprim import Agent, Engine, UnsupportedModel
from tests.agent.crew import SHORT, agent, same, turn
from tests.engine.making import END, engine, twin
from tests.engine.templates import tokenizer
from tests.support.oracle import blocked_logits
from tests.support.tiny import build


def _greedy(step, count=5):
    """Take the best next token of `step(reply)` again and again, up to the end token."""
    reply: list[int] = []
    while len(reply) < count and reply[-1:] != [END]:
        reply.append(int(step(reply)[-1].argmax()))
    return reply


@pytest.mark.parametrize("family", ["qwen3", "mistral"])
@pytest.mark.parametrize("offsets", ["consecutive", "shared"])
def test_relocated_senders_are_read_as_one_blocked_text(family, offsets):
    a, b, c = (agent(name, family) for name in ("a", "bb", "ccc"))
    senders = [a("why?", **SHORT), b("how are you?", **SHORT)]
    out = c("so?", context=senders, carry="all", offsets=offsets, **SHORT)
    parts = [c.system_kv.ids, *(sender.kv.ids for sender in senders)]
    query, first = turn(c, "so?"), len(parts[0])
    shift = len(parts[1]) if offsets == "consecutive" else 0
    behind = first + (shift + len(parts[2]) if shift else max(map(len, parts[1:])))
    starts = [0, first, first + shift, behind]
    model = twin(family)
    expected = _greedy(lambda reply: blocked_logits(model, parts, query + reply, starts=starts))
    assert list(out.ids) == expected
    logits = blocked_logits(model, parts, query + expected, starts=starts)
    same(c.engine.logits(out.hidden), logits[-1], 1e-3)
    assert out.kv.ids[: out.reply_start] == [i for part in (*parts, query) for i in part]


def test_an_appended_sender_is_one_text():
    a, b = agent("a"), agent("b")
    first = a("why?", **SHORT)
    out = b("so?", context=[first], join="append", **SHORT)
    text = [*first.kv.ids, *b.chat.system(b.system), *turn(b, "so?")]
    assert out.kv.ids[: out.reply_start] == text and not any(s.delta for s in out.kv.spans)
    engine_ = b.engine
    assert list(out.ids) == list(engine_.generate(text, **SHORT).ids)
    same(out.kv.hidden, engine_.prefill(out.kv.ids).hidden)
    assert out.system_end == 0 and b._system_kv is None, "nothing but the text is computed"
    assert out.usage.prefilled + out.usage.decoded == len(out.kv) - len(first.kv)


def test_a_first_token_stands_once_in_an_appended_text():
    one = Engine(build("qwen3"), tokenizer("bos"), pool_tokens=1024)
    bos = one.tokenizer.bos_token_id
    a, b = Agent(one, "Be a."), Agent(one, "Be b.")
    first = a("why?", **SHORT)
    out = b("so?", context=[first], join="append", **SHORT)
    for found in (out, b("so?", context=[first], **SHORT)):
        said = first.ids + found.ids
        assert found.kv.ids[0] == bos and found.kv.ids.count(bos) == 1 + said.count(bos)


@pytest.mark.parametrize("carry", ["all", "no_system", "reply"])
def test_only_what_shall_travel_travels(carry):
    a, b = agent("a"), agent("b")
    first = a("why?", **SHORT)
    opened = len(engine().encode("<|im_start|>assistant\n"))
    start = {
        "all": 0, "no_system": len(a.system_kv), "reply": first.reply_start - opened,
    }[carry]  # fmt: skip
    out = b("so?", context=[first], carry=carry, **SHORT)
    part = first.kv.ids[start:]
    if carry == "reply":
        assert engine().tokenizer.decode(part).startswith("<|im_start|>assistant\n")
    assert out.kv.ids[: out.reply_start] == [*b.system_kv.ids, *part, *turn(b, "so?")]
    # at the place right behind the receiver's prompt, whatever was cut off
    assert out.kv.next_position == len(out.kv)
    assert out.trace[0].detail["tokens"] == len(part)
    assert out.trace[0].detail["deltas"] == [len(b.system_kv) - start]


def test_the_default_carries_no_system_prompt_unless_it_appends():
    a, b = agent("a"), agent("b")
    first = a("why?", **SHORT)
    assert b("so?", context=[first], **SHORT).trace[0].detail["carry"] == "no_system"
    out = b("so?", context=[first], join="append", **SHORT)
    assert out.trace[0].detail["carry"] == "all"


def test_a_batch_has_its_own_contexts_or_one_for_all():
    a, b = agent("a"), agent("b")
    x, y = a(["why?", "how are you?"], **SHORT)
    own = b(["so?", "and then?"], context=[[x], [x, y]], **SHORT)
    assert own[0].ids == b("so?", context=[x], **SHORT).ids
    assert own[1].ids == b("and then?", context=[x, y], **SHORT).ids
    same(own[1].hidden, b("and then?", context=[x, y], **SHORT).hidden)
    all_ = b(["so?", "and then?"], context=[x, y], **SHORT)
    assert [out.ids for out in all_] == [b("so?", context=[x, y], **SHORT).ids, own[1].ids]
    mixed = b(["so?", "so?"], context=[[], [x]], join="append", **SHORT)
    assert mixed[0].ids == b("so?", **SHORT).ids
    assert mixed[1].ids == b("so?", context=[x], join="append", **SHORT).ids


def test_plain_caches_are_senders_too_and_stay_as_they_are():
    b = agent("b")
    kv = engine().prefill("some note")
    out = b("so?", context=[kv], **SHORT)
    assert kv.ids == engine().encode("some note") and kv.next_position == len(kv)
    assert out.kv.ids[len(b.system_kv) :][: len(kv)] == kv.ids
    assert out.trace[0].detail["sender"] == "kv"


def test_a_relay_holds_what_each_has_read():
    a, b, c = agent("a"), agent("b"), agent("c")
    first = a("why?", **SHORT)
    second = b("so?", context=[first], **SHORT)
    third = c("and?", context=[second], **SHORT)
    cut = second.kv.ids[len(b.system_kv) :]
    assert cut[: len(first.kv) - len(a.system_kv)] == first.kv.ids[len(a.system_kv) :]
    assert third.kv.ids[len(c.system_kv) :][: len(cut)] == cut
    third.kv.release()
    assert first.kv.ids and second.kv.ids


def test_unrotated_keys_answer_otherwise_from_the_same_ids():
    a, b = agent("a"), agent("much longer than a")
    first = a("why?", **SHORT)
    right = b.think("so?", context=[first], inner="prefill")
    wrong = b.think("so?", context=[first], inner="prefill", rotate=False)
    assert wrong.kv.ids == right.kv.ids
    assert float((wrong.hidden - right.hidden).abs().max()) > 0.1


def test_a_model_whose_keys_cannot_move_appends_and_refuses_to_relocate():
    a, b = agent("a", "bloom"), agent("much longer than a", "bloom")
    first = a("why?", **SHORT)
    free = b.engine.pool.num_free - -(-len(b.chat.system(b.system)) // b.engine.pool.page_size)
    with pytest.raises(UnsupportedModel, match='use join="append"'):
        b("so?", context=[first], **SHORT)
    assert b.engine.pool.num_free == free
    out = b("so?", context=[first], join="append", **SHORT)
    text = [*first.kv.ids, *b.chat.system(b.system), *turn(b, "so?")]
    assert list(out.ids) == list(b.engine.generate(text, **SHORT).ids)


@pytest.mark.parametrize("join", ["relocate", "append"])
def test_senders_may_be_gone_before_the_answer_is_used(join):
    a, b = agent("a"), agent("b")
    first = a("why?", **SHORT)
    out = b("so?", context=[first], join=join, **SHORT)
    expected = b.engine.forward([5, 6], out.kv)
    first.kv.release()
    a("quite another text to fill freed pages", **SHORT)
    assert torch.equal(b.engine.forward([5, 6], out.kv), expected)
