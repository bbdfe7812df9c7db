"""A primitive is an agent: it takes a role in another, and its outputs are contexts."""

import gc

import pytest

from agentprim import Agent, Planning, Review, Voting
from tests.agent.crew import count_tokens
from tests.engine.making import engine
from tests.primitives.team import SHORT, calls, decisions, handovers, make, role

KINDS = [Review, Voting, Planning]


def test_a_vote_among_reviews():
    inner = make(Review, stop="never", rounds=1)
    out = make(Voting, solver=inner, solvers=2, keep=2)("why?", **SHORT)
    assert [name for name, _ in calls(out)] == ["solver", "critic", "solver"] * 2 + ["selector"]
    assert handovers(out)[-2:] == [("solver", "selector")] * 2
    (vote,) = decisions(out, "vote")
    assert vote["support"][0] < 0.9999, "the copies must have parted"


def test_a_review_of_votes():
    out = make(Review, stop="never", rounds=1, solver=make(Voting, solvers=2))("why?", **SHORT)
    work = [name for name, _ in calls(out)]
    assert work == ["solver", "solver", "selector", "critic", "solver", "solver", "selector"]
    assert len(decisions(out, "vote")) == 2


@pytest.mark.parametrize("comm", ["kv", "text"])
def test_a_plan_carried_out_by_reviews(comm):
    inner = make(Review, stop="never", rounds=1, comm=comm)
    out = make(Planning, executors=2, executor=inner, comm=comm)("why?", **SHORT)
    work = [name for name, _ in calls(out)]
    assert work == ["planner", *["solver", "critic", "solver"] * 2]
    assert str(out) == str.__str__(out) and out.kv is not None


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_an_answer_is_a_context_of_another(first, second):
    note = make(first)("why?", **SHORT)
    out = make(second)("so?", context=[note], **SHORT)
    assert handovers(out)[0][0] == note.name
    cut = note.kv.ids[note.system_end :]
    text = out.kv.ids
    assert any(text[i : i + len(cut)] == cut for i in range(len(text)))


def test_a_primitive_takes_messages_batches_and_samples():
    one = make(Review)
    messages = [
        {"role": "user", "content": "why?"}, {"role": "assistant", "content": "so"},
        {"role": "user", "content": "how?"},
    ]  # fmt: skip
    out = one([messages], **SHORT)[0]
    turns = one.solver.chat.turn([*messages[:2], {"role": "user", "content": "how?"}])
    assert any(out.kv.ids[i : i + len(turns)] == turns for i in range(len(out.kv)))
    outs = one(["why?", "how?"], samples=2, temperature=2.0, max_new_tokens=6)
    assert len(outs) == 4 and outs[0] != outs[1]
    assert outs[2:] == one("how?", samples=2, temperature=2.0, max_new_tokens=6)
    pieces = []
    assert one("why?", stream=pieces.append, **SHORT) == "".join(pieces)


def test_a_thought_of_a_primitive_ends_latent():
    out = make(Voting).think("why?", steps=3)
    assert out == "" and out.finish == "handover" and out.kv.ids.count(-1) >= 3
    assert role("b")("so?", context=[out], **SHORT).usage.reused == len(out.kv) - out.system_end


def test_a_role_may_be_any_agent():
    solver = Agent(engine(), "Only numbers.", name="calculator")
    out = make(Review, solver=solver, rounds=1)("why?", **SHORT)
    assert [name for name, _ in calls(out)] == ["calculator", "critic", "calculator"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"inner": "text"}, {"comm": "text"}])
def test_each_token_is_counted_once(kind, options):
    one = make(kind, **options)
    counts, hook = count_tokens(engine().model)
    try:
        out = one("why?", **SHORT)
    finally:
        hook.remove()
    cost = out.usage.total
    assert cost.prefilled + cost.decoded + cost.latent == sum(counts)
    assert cost.seconds > 0 and cost.decision_calls == cost.recomputed == 0


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_answer_keeps_pages(kind):
    one = make(kind)
    one("why?", **SHORT)
    gc.collect()
    free = engine().pool.num_free
    gc.disable()
    try:
        out = one(["why?", "how?"], **SHORT)
        del out
        assert engine().pool.num_free == free
    finally:
        gc.enable()


def test_losers_of_a_vote_are_gone_before_the_answer():
    pool, left = engine().pool, {}
    for vote in ("all", "agreement"):
        one = make(Voting, vote=vote, steps=8)
        selector = one.selector

        def look(turns, *, vote=vote, selector=selector, **options):
            left[vote] = pool.num_free
            return selector(turns, **options)

        one.selector = look
        assert len(one.solver.system_kv)  # read now, and not in the call
        free = pool.num_free
        one("why?", **SHORT)
        left[vote] -= free
    assert left["agreement"] >= left["all"] + 2  # 8 steps and the close, in pages of 4


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: make(Review, rounds=0), "rounds must be at least 1, got 0"),
        (lambda: make(Review, stop="later"), "stop must be one of"),
        (lambda: make(Voting, solvers=0), "solvers must be at least 1, got 0"),
        (lambda: make(Voting, vote="loud"), "vote must be one of"),
        (lambda: make(Voting, keep=4), "keep must be between 1 and 3, got 4"),
        (lambda: make(Planning, executors=0), "executors must be at least 1, got 0"),
        (lambda: make(Review, comm="smoke"), "comm must be one of"),
        (lambda: make(Review, inner="aloud"), "inner must be one of"),
        (lambda: make(Review, comm="text", inner="latent"), "inner must be 'text' with comm="),
        (lambda: make(Review, join="glue"), "join must be one of"),
        (lambda: make(Review, carry="half"), "carry must be one of"),
        (lambda: make(Review, offsets="far"), "offsets must be one of"),
        (lambda: make(Review, steps=-1), "steps must be at least 0, got -1"),
        (lambda: make(Review, inner_tokens=0), "inner_tokens must be at least 1, got 0"),
        (lambda: make(Review)("q", samples=0), "samples must be at least 1, got 0"),
        (lambda: make(Review)("q", join="glue"), "join must be one of"),
        (lambda: make(Review)(""), "x must have at least one token"),
        (lambda: make(Review, comm="text")("q", context=[role("a").think("q", steps=1)]),
         "context must carry text with comm='text', got a cache without text"),
    ],
)  # fmt: skip
def test_bad_options_are_named(make_it, message):
    with pytest.raises(ValueError, match=message):
        make_it()


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match="round"):
        make(Review, round=2)
