"""Agents that repair what they receive: how close it gets, what it costs, what is reported."""

import pytest
import torch

import agentprim as ap
from agentprim import Planning, Repair, Review, UnsupportedModel, Voting
from tests.agent.crew import SHORT, agent, count_tokens, opening, same, turn
from tests.engine.making import engine, plain_greedy, plain_logits, twin

ALL = Repair(first=0, share=1.0)


@pytest.mark.parametrize("family", ["qwen3", "mistral", "gpt_oss"])
def test_with_everything_recomputed_an_answer_is_that_of_one_text(family):
    a, b, c = (agent(name, family) for name in ("a", "bb", "ccc"))
    senders = [a("why?", **SHORT), b("how are you?", **SHORT)]
    out = c("so?", context=senders, join=ALL, **SHORT)
    cut = [i for sender in senders for i in sender.kv.ids[sender.system_end :]]
    text = [*c.system_ids, *cut, *turn(c, "so?")]
    assert out.kv.ids[: out.reply_start] == text
    assert list(out.ids) == plain_greedy(twin(family), text, 5)
    logits = plain_logits(twin(family), [*text, *out.ids])[-1]
    same(c.engine.logits(out.hidden), logits, 1e-3)
    assert out.usage.recomputed == len(cut) and out.usage.relocated == 0


def test_an_agent_repairs_as_its_engine_does():
    a, b = agent("a"), agent("much longer than a")
    first = a("why?", **SHORT)
    read = b.think("so?", context=[first], join="repair", inner="prefill")
    kv = b.engine.repair(ap.join([b.system_kv, first.kv[first.system_end :]]))
    expected = b.engine.prefill(turn(b, "so?"), kv)
    same(read.hidden, expected.hidden)
    other = b.think("so?", context=[first], inner="prefill").hidden
    assert float((read.hidden - other).abs().max()) > 0.01
    named = Repair(first=16, share=0.15)
    same(b.think("so?", context=[first], join=named, inner="prefill").hidden, read.hidden, 0)


@pytest.mark.parametrize("inner", ["latent", "prefill", "text"])
@pytest.mark.parametrize("samples", [1, 2])
@pytest.mark.parametrize("how", ["repair", Repair(first=4, share=0), Repair(first=0, share=0.4)])
def test_each_token_is_counted_once_where_it_was_computed(inner, samples, how):
    a, b, one = agent("a"), agent("b"), agent("another")
    senders = [a("how?", **SHORT), b("who?", **SHORT)]
    more = SHORT if inner == "text" else {}
    counts, hook = count_tokens(one.engine.model)
    try:
        outs = one.think("why?", inner=inner, steps=4, join=how, context=senders,
                         samples=samples, **more)  # fmt: skip
    finally:
        hook.remove()
    outs = outs if samples > 1 else [outs]
    total = sum((out.usage for out in outs[1:]), outs[0].usage).total
    events = [event.detail for event in outs[0].trace if event.kind == "handover"]
    checked = sum(event["checked"] for event in events)
    computed = total.prefilled + total.decoded + total.latent + total.recomputed
    assert computed + checked == sum(counts)
    back = len(opening(one)) if inner == "prefill" else 0
    for out in outs:
        c = out.usage.total
        assert c.prefilled + c.decoded + c.latent + c.recomputed + c.reused == len(out.kv) + back
        assert c.relocated <= c.reused and c.prefilled >= 0
    assert all(out.usage.recomputed == 0 for out in outs[1:]), "they start from one reading"
    assert outs[0].usage.recomputed == sum(event["recomputed"] for event in events) > 0
    assert outs[0].usage.recomputed + outs[0].usage.relocated == sum(e["tokens"] for e in events)


def test_a_hand_over_says_what_was_recomputed_and_how_long_it_took():
    a, b, c = agent("a"), agent("b"), agent("c")
    senders = [a("why?", **SHORT), b.think("who?", steps=3)]
    out = c("so?", context=senders, join=Repair(first=2, share=0.1), **SHORT)
    first, second = (event.detail for event in out.trace if event.kind == "handover")
    assert (first["join"], first["checked_layers"], first["skipped"]) == ("repair", 2, 0)
    assert first["checked"] == first["tokens"] and first["recomputed"] >= 2
    assert second["skipped"] == 3 and second["checked"] == second["tokens"] - 3
    assert first["deltas"] == [len(c.system_ids) - len(a.system_ids)]
    assert first["seconds"] == second["seconds"] > 0
    plain = c("so?", context=senders[:1], **SHORT).trace[0].detail
    assert plain["recomputed"] == 0 and plain["seconds"] > 0 and "checked" not in plain
    unchecked = c("so?", context=senders[:1], join=Repair(share=0), **SHORT).trace[0].detail
    assert (unchecked["checked"], unchecked["checked_layers"]) == (0, 0)


def test_a_batch_of_questions_is_repaired_in_one_pass():
    a, b = agent("a"), agent("b")
    x, y = a(["why?", "how are you?"], **SHORT)
    options = {"join": Repair(first=4, share=0.3), "inner": "prefill"}
    alone = [
        b.think(question, context=context, **options)
        for question, context in (("so?", [x]), ("and then?", [x, y]), ("?", []))
    ]
    counts, hook = count_tokens(b.engine.model)
    try:
        both = b.think(["so?", "and then?", "?"], context=[[x], [x, y], []], **options)
    finally:
        hook.remove()
    assert len(counts) == 3, "check, repair, and turns"
    for got, want in zip(both, alone, strict=True):
        same(got.hidden, want.hidden)
        assert got.kv.ids == want.kv.ids and got.usage.recomputed == want.usage.recomputed


@pytest.mark.parametrize("kind", [Review, Voting, Planning])
def test_a_primitive_repairs_between_all_its_agents(kind):
    one = kind(engine(), steps=2, join="repair")
    counts, hook = count_tokens(engine().model)
    try:
        out = one("why?", max_new_tokens=4)
    finally:
        hook.remove()
    events = [event.detail for event in out.trace if event.kind == "handover"]
    assert events and all(event["recomputed"] for event in events)
    cost = out.usage.total
    computed = cost.prefilled + cost.decoded + cost.latent + cost.recomputed
    assert computed + sum(event["checked"] for event in events) == sum(counts)
    plain = kind(engine(), steps=2)("why?", max_new_tokens=4, join=Repair(share=0))
    assert 0 < plain.usage.recomputed < cost.recomputed


def test_received_keys_of_others_stay_as_they_were():
    a, b = agent("a"), agent("b")
    first = a("why?", **SHORT)
    kept = (first.kv, b.system_kv, a.system_kv)
    before = [layer.keys.clone() for kv in kept for layer in kv.to_cache().layers]
    b("so?", context=[first], join="repair", **SHORT)
    after = [layer.keys for kv in kept for layer in kv.to_cache().layers]
    assert all(torch.equal(x, y) for x, y in zip(before, after, strict=True))


def test_a_model_that_cannot_repair_says_so_and_keeps_nothing():
    a, b = agent("a", "falcon"), agent("b", "falcon")
    first, free = a("why?", **SHORT), None
    _ = b.system_kv
    free = b.engine.pool.num_free
    with pytest.raises(UnsupportedModel, match='cannot be repaired.*use join="relocate"'):
        b("so?", context=[first], join="repair", **SHORT)
    assert b.engine.pool.num_free == free
    assert b("so?", join="repair", **SHORT) == b("so?", **SHORT)


def test_an_unknown_mode_is_named():
    with pytest.raises(ValueError, match=r"join must be one of .*'repair'.* Repair.* got 0.5"):
        agent("a")("so?", join=0.5)
    with pytest.raises(ValueError, match="layer must be at most 2, got 7"):
        a = agent("a")
        agent("b")("so?", context=[a("why?", **SHORT)], join=Repair(layer=7), **SHORT)
