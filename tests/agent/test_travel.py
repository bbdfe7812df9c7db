"""What travels: whole turns, one first token, and no system prompt that is there already."""

import itertools
import re

import pytest
import torch
from tokenizers.processors import TemplateProcessing

from agentprim import Agent, Engine, Output
from agentprim.cache.marks import of_kind
from tests.agent.crew import SHORT, agent, same, turn
from tests.engine.making import engine
from tests.engine.templates import tokenizer
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

TURN = re.compile(r"<\|im_start\|>(system|user|assistant)\n[^<]*(?:<\?>[^<]*)*<\|im_end\|>\n")


@pytest.fixture(scope="module")
def bos_engine():
    """Return an engine whose template begins all texts with a token of their own."""
    return Engine(build("qwen3"), tokenizer("bos"), pool_tokens=4096, page_size=4)


def count(text, part):
    return sum(text[i : i + len(part)] == part for i in range(len(text)))


def prompts(out):
    return [out.kv.ids[begin:end] for begin, end in of_kind(out.kv.marks, "system")]


def keys_per_layer(kv):
    return {layer.keys.shape[2] for layer in kv.to_cache().layers}


@pytest.mark.parametrize("carry", ["all", "no_system", "reply"])
@pytest.mark.parametrize("join", ["relocate", "append", "repair"])
def test_a_first_token_stands_at_the_front_and_nowhere_else(bos_engine, join, carry):
    """Segments that were read alone bring a BOS of their own: see LMCache/LMCache #3228."""
    bos = bos_engine.tokenizer.bos_token_id
    a, b, c = (Agent(bos_engine, f"Be {name}.", name=name) for name in "abc")
    note = bos_engine.prefill([bos, 40, 41, 42])
    first, second = a("why?", **SHORT), b("how?", **SHORT)
    out = c("so?", context=[first, second, note], join=join, carry=carry, **SHORT)
    again = a("and?", context=[out], join=join, carry=carry, **SHORT)
    for one in (out, again):
        said = first.ids + second.ids + out.ids + (again.ids if one is again else ())
        assert one.kv.ids[0] == bos and one.kv.ids.count(bos) <= 1 + said.count(bos)
        assert keys_per_layer(one.kv) == {len(one.kv.ids)} == {len(one.kv)}
    assert note.ids[0] == bos and len(first.kv.ids) == len(first.kv)


@pytest.mark.parametrize("join", ["relocate", "append", "repair"])
def test_a_first_token_of_a_tokenizer_stands_at_the_front_alone(join):
    """Without a template the tokenizer itself adds it: see LMCache/LMCache #1136 and #1624."""
    tok = tiny_tokenizer()
    tok.bos_token, tok.chat_template = "#", None
    bos = tok.bos_token_id
    tok.backend_tokenizer.post_processor = TemplateProcessing(
        single="# $A", special_tokens=[("#", bos)]
    )
    one = Engine(build("qwen3"), tok, pool_tokens=2048, page_size=4)
    a, b = Agent(one, "Be a."), Agent(one, "Be b.")
    note = one.prefill("a note")
    assert note.ids[0] == bos and one.prefill("more", note).ids.count(bos) == 1
    first = a("why?", **SHORT)
    out = b("so?", context=[first, note], join=join, carry="all", **SHORT)
    assert out.kv.ids[0] == bos
    assert out.kv.ids.count(bos) == 1 + (first.ids + out.ids).count(bos)


@pytest.mark.parametrize("join", ["relocate", "append", "repair"])
def test_a_prompt_of_the_receiver_does_not_come_back_to_it(bos_engine, join):
    a, b, twin = (Agent(bos_engine, f"Be {name}.", name=name) for name in "aba")
    text = a.chat.without_bos(a.system_ids)
    first = a("why?", **SHORT)
    direct = twin("so?", context=[first], join=join, carry="all", **SHORT)
    assert count(direct.kv.ids, text) == 1
    second = b("so?", context=[first], join=join, carry="all", **SHORT)
    assert count(second.kv.ids, text) == 1
    back = a("and?", context=[second], join=join, carry="all", **SHORT)
    assert count(back.kv.ids, text) == 1, "another agent brought it"
    assert count(back.kv.ids, b.chat.without_bos(b.system_ids)) == 1
    further = a("and?", context=[b("how?", **SHORT), first, second], join=join, carry="all",
                **SHORT)  # fmt: skip
    assert count(further.kv.ids, text) == 1
    assert len(prompts(further)) == 3, "and that of b with each of its two answers"


def test_an_appended_prompt_that_is_there_already_is_not_read_again():
    a, b = agent("a"), agent("b")
    first = a("why?", **SHORT)
    second = b("so?", context=[first], join="append", **SHORT)
    third = a("and?", context=[second], join="append", **SHORT)
    assert third.kv.ids[: third.reply_start] == [*second.kv.ids, *turn(a, "and?")]
    same(third.kv.hidden, a.engine.prefill(third.kv.ids).hidden)
    assert prompts(third) == [a.system_ids, b.system_ids]


@pytest.mark.parametrize("before", ["relocate", "append"])
def test_no_system_prompt_travels_of_whomever(before):
    a, b, c = agent("a"), agent("b"), agent("c")
    first = a("why?", **SHORT)
    second = b("so?", context=[first], join=before, carry="all", **SHORT)
    assert sorted(prompts(second)) == sorted([a.system_ids, b.system_ids])
    third = c("and?", context=[second], **SHORT)
    assert prompts(third) == [c.system_ids]
    assert third.kv.ids[: third.reply_start] == [
        *c.system_ids, *first.kv.ids[first.system_end :], *turn(b, "so?"),
        *second.kv.ids[second.reply_start :], *turn(c, "and?"),
    ]  # fmt: skip
    # a prompt cut out of the middle leaves a gap: what was read behind it keeps its distance
    gap = len(b.system_ids) if before == "append" else 0
    assert third.kv.next_position == len(third.kv) + gap


@pytest.mark.parametrize("carry", ["all", "no_system", "reply"])
@pytest.mark.parametrize("join", ["relocate", "append", "repair"])
@pytest.mark.parametrize("inner", ["text", "latent", "prefill"])
def test_a_receiver_sees_whole_turns(join, carry, inner):
    a, b, c = agent("a"), agent("b"), agent("c")
    more = {**SHORT, "stop": ["e"]} if inner == "text" else {"steps": 2}
    first = a.think("why?", inner=inner, **more)
    second = b.think("so?", inner=inner, context=[first], join=join, carry=carry, **more)
    out = c.think("and?", inner="prefill", context=[first, second], join=join, carry=carry)
    for one in (first, second, out):
        text = engine().tokenizer.decode([30 if i < 0 else i for i in one.kv.ids])
        assert TURN.sub("", text) == "", text


def test_an_end_token_of_another_kind_gives_way_to_the_end_of_the_turn():
    one = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=2048, page_size=4)
    a, b = (Agent(one, f"You are {name}.", name=name) for name in "cb")
    said = a("why?", max_new_tokens=9).ids
    last = next(i for i in said if i not in (said[0], *a.chat.close()))
    one.model.generation_config.eos_token_id = last
    first = a("why?", max_new_tokens=9)
    assert first.finish == "stop" and first.ids[-1] == last
    reply = first.kv.ids[first.reply_start :]
    assert reply == [*first.ids[:-1], *a.chat.close()]
    assert len(first.kv) == first.usage.prefilled + first.usage.decoded + first.usage.reused
    read = one.prefill(first.kv.ids[: first.reply_start + len(first.ids)])
    same(first.hidden, read.hidden)
    assert count(b("so?", context=[first], **SHORT).kv.ids, reply) == 1


def test_a_reply_travels_with_the_header_of_its_turn():
    a, b = agent("a"), agent("b")
    first = a("why?", **SHORT)
    out = b("so?", context=[first], carry="reply", **SHORT)
    part = out.kv.ids[len(b.system_ids) : -len(out.kv.ids[out.reply_start :]) - len(turn(b, "so?"))]
    text = engine().tokenizer.decode(part)
    assert text.startswith("<|im_start|>assistant\n") and text.endswith("<|im_end|>\n")
    assert text.count("<|im_start|>assistant\n") == 1
    moved = first.but(reply_start=first.reply_start - 1)  # no header stands there
    out = b("so?", context=[moved], carry="reply", **SHORT)
    assert out.trace[0].detail["tokens"] == len(first.kv) - moved.reply_start


def test_an_answer_of_other_making_is_cut_by_what_it_says():
    b = agent("b")
    kv = engine().prefill([40, 41, 42, 43, 44])
    note = Output("note", kv=kv, system_end=2, reply_start=4, name="note")
    for carry, ids in (("all", [40, 41, 42, 43, 44]), ("no_system", [42, 43, 44]), ("reply", [44])):
        out = b("so?", context=[note], carry=carry, **SHORT)
        assert out.kv.ids[len(b.system_ids) :][: len(ids)] == ids
        assert out.trace[0].detail["tokens"] == len(ids)


@pytest.mark.parametrize("join", ["relocate", "repair"])
@pytest.mark.parametrize("family", ["qwen3", "gemma3"])
def test_senders_at_a_shared_place_have_no_order(join, family):
    a, b, c, d = (agent(name, family) for name in ("a", "bb", "ccc", "d"))
    senders = [a("why?", **SHORT), b("how are you?", **SHORT), c("who?", **SHORT)]
    options = {"inner": "prefill", "join": join}
    states = [
        d.think("so?", context=list(order), offsets="shared", **options).hidden
        for order in itertools.permutations(senders)
    ]
    for state in states[1:]:
        assert (state - states[0]).abs().max() < 1e-4 * states[0].abs().max()
    ordered = d.think("so?", context=senders, **options).hidden
    turned = d.think("so?", context=senders[::-1], **options).hidden
    assert float((ordered - turned).abs().max()) > 0.01
    assert not torch.equal(ordered, states[0])
