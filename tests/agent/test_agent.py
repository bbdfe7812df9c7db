"""An agent keeps its system prompt cached and nothing else."""

import pytest
import torch

from agentprim import Agent, Engine
from tests.agent.crew import SHORT, agent, count_tokens, same, turn
from tests.engine.making import B, engine, plain_greedy, twin
from tests.engine.templates import WITHOUT, tokenizer
from tests.support.tiny import build


def _bytes(kv):
    return [layer.keys.clone() for layer in kv.to_cache().layers]


@pytest.mark.parametrize("family", ["qwen3", "mistral", "gptj"])
def test_an_answer_is_that_of_the_whole_text(family):
    one = agent("a", family)
    ids = [*one.chat.system(one.system), *turn(one, "why?")]
    out = one("why?", **SHORT)
    assert list(out.ids) == plain_greedy(twin(family), ids, 5)
    assert out.kv.ids[: len(ids)] == ids and out.reply_start == len(ids)
    assert out.system_end == len(one.system_kv) and out.name == "a"


def test_a_stored_prompt_does_not_grow_or_change():
    """See MemTensor/MemOS #2301 and huggingface/transformers #37078."""
    one = agent("a")
    kv, before = one.system_kv, _bytes(one.system_kv)
    answers = [one(question, **SHORT) for question in ("why?", "how?", "why?")]
    single = one("why?", context=[answers[0]], **SHORT)
    assert one.system_kv is kv and len(kv) == len(one.chat.system(one.system))
    assert all(torch.equal(a, b) for a, b in zip(before, _bytes(kv), strict=True))
    assert answers[0] == answers[2] and answers[0].kv.ids == answers[2].kv.ids
    assert single.usage.reused == len(kv) + len(answers[0].kv) - answers[0].system_end


def test_a_stored_prompt_is_computed_once_and_counted_then():
    one = agent("a")
    counts, hook = count_tokens(one.engine.model)
    try:
        first, second = one("why?", **SHORT), one("why?", **SHORT)
    finally:
        hook.remove()
    length = len(one.system_kv)
    assert counts[0] == length and sum(counts) == 2 * (len(first.kv) - length) + length
    assert first.usage.prefilled == second.usage.prefilled + length
    assert (first.usage.reused, second.usage.reused) == (0, length)


def test_two_agents_of_one_engine_do_not_share_what_they_say():
    a, b = agent("a"), agent("a")
    expected = b("why?", **SHORT)
    a("quite another thing", **SHORT)
    assert b("why?", **SHORT) == expected


def test_a_batch_answers_like_single_calls():
    one = agent("a")
    questions = ["why?", "what is the longest of all questions?", "how?"]
    singles = [one(question, **SHORT) for question in questions]
    batch = one(questions, **SHORT)
    assert [out.ids for out in batch] == [out.ids for out in singles]
    assert [out.kv.ids for out in batch] == [out.kv.ids for out in singles]
    for a, b in zip(batch, singles, strict=True):
        same(a.hidden, b.hidden)
        assert a.usage.prefilled == b.usage.prefilled or a is batch[0]


def test_samples_are_read_once_and_differ_by_seed():
    one = agent("a")
    _ = one.system_kv
    counts, hook = count_tokens(one.engine.model)
    try:
        outs = one(["why?", "how?"], samples=3, seed=7, temperature=2.0, **SHORT)
    finally:
        hook.remove()
    assert len({str(out) for out in outs[:3]}) > 1
    alone = one("how?", samples=3, seed=7, temperature=2.0, **SHORT)
    assert outs[3:] == alone
    assert outs[1] == one("why?", seed=8, temperature=2.0, **SHORT)
    assert counts[0] == len(turn(one, "why?")) + len(turn(one, "how?")) - 2
    assert outs[0].usage.prefilled > outs[1].usage.prefilled == outs[2].usage.prefilled


def test_messages_are_turns_of_one_conversation():
    one = agent("a")
    messages = [
        {"role": "user", "content": "why?"}, {"role": "assistant", "content": "so"},
        {"role": "user", "content": "how?"},
    ]  # fmt: skip
    out = one(messages, **SHORT)
    assert out.kv.ids[: out.reply_start] == [*one.system_kv.ids, *one.chat.turn(messages)]
    assert [x.ids for x in one([messages, messages[:1]], **SHORT)] == [
        out.ids, one("why?", **SHORT).ids,
    ]  # fmt: skip


def test_a_stream_adds_up_to_the_answer():
    one, pieces = agent("a"), []
    assert one("why?", stream=pieces.append, **SHORT) == "".join(pieces)
    rows = {}
    outs = one(["why?", "how?"], stream=lambda r, t: rows.setdefault(r, []).append(t), **SHORT)
    assert ["".join(rows[0]), "".join(rows[1])] == outs


@pytest.mark.parametrize("name", WITHOUT)
def test_templates_without_a_system_turn_answer_the_same_text(name):
    one = Agent(Engine(build("qwen3"), tokenizer(name), pool_tokens=512), "Be good.")
    out = one("why?", **SHORT)
    text = out.kv.ids[: out.reply_start]
    assert text == [*one.chat.system("Be good."), *turn(one, "why?")]
    assert list(out.ids) == plain_greedy(twin(), text, 5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: a(""), ValueError, "x must have at least one token, got an empty question"),
        (lambda a: a([]), ValueError, "x must have at least one question, got none"),
        (lambda a: a(3), TypeError, "x must be a question, messages, or a list of them, got int"),
        (lambda a: a([3]), TypeError, "x must be a question or messages, got int"),
        (lambda a: a([{"role": "user"}]), TypeError, "messages must have role and content"),
        (lambda a: a([{"role": "user", "content": [1]}]), TypeError,
         "messages must have text as content, got list"),
        (lambda a: a([{"role": "system", "content": "x"}]), ValueError,
         "messages must have no system turn"),
        (lambda a: a("q", join="glue"), ValueError, "join must be one of"),
        (lambda a: a("q", carry="half"), ValueError, "carry must be one of"),
        (lambda a: a("q", offsets="far"), ValueError, "offsets must be one of"),
        (lambda a: a("q", samples=0), ValueError, "samples must be at least 1, got 0"),
        (lambda a: a("q", seed=[1, 2]), ValueError, "seed must have 1 entries, got 2"),
        (lambda a: a("q", top_p=3.0), ValueError, "top_p must be above 0 and at most 1, got 3.0"),
        (lambda a: a.think("q", inner="aloud"), ValueError, "inner must be one of"),
        (lambda a: a.think("q", max_new_tokens=3), TypeError,
         "max_new_tokens must be given with inner='text', got 'latent'"),
        (lambda a: a("q", context=a("q", **SHORT)), TypeError,
         "context must be a list of Outputs or KVs, got one Output"),
        (lambda a: a("q", context=a.system_kv), TypeError,
         "context must be a list of Outputs or KVs, got one KV"),
        (lambda a: a("q", context=["text"]), TypeError, r"context\[0\] must be a KV, got str"),
        (lambda a: a("q", context=[a("q", **SHORT).but(kv=None)]), ValueError,
         r"context\[0\] must carry its cache, got text"),
        (lambda a: a(["q", "r"], context=[[], [], []]), ValueError,
         "context must have 2 lists, got 3"),
        (lambda a: a("q", context=[Engine(build("qwen3"), pool_tokens=64).prefill(B)]), ValueError,
         r"context\[0\] must belong to this pool"),
    ],
)  # fmt: skip
def test_bad_calls_are_named_and_change_nothing(call, error, message):
    one = agent("a")
    before, free = one("why?", **SHORT), one.engine.pool.num_free
    with pytest.raises(error, match=message):
        call(one)
    assert one.engine.pool.num_free == free
    assert one("why?", **SHORT) == before


def test_bad_agents_are_named():
    with pytest.raises(ValueError, match="engine must have a tokenizer for agents, got none"):
        Agent(Engine(build("qwen3"), pool_tokens=64))
    with pytest.raises(ValueError, match="temperature must be at least 0, got -1"):
        Agent(engine(), temperature=-1)
    with pytest.raises(TypeError, match="max_tokens"):
        Agent(engine(), max_tokens=3)
