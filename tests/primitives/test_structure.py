"""Who gets whose cache, how often and in which order."""

import pytest

from agentprim import Planning, Review, Voting
from tests.agent.crew import same
from tests.engine.making import engine
from tests.primitives.team import SHORT, Heard, calls, handovers, make, role

CHAINS = {
    Review: [
        ("solver", "critic"),
        ("critic", "solver"),
        ("solver", "critic"),
        ("critic", "solver"),
    ],
    Planning: [("planner", "executor"), ("executor", "executor"), ("executor", "executor")],
    Voting: [("solver", "selector"), ("solver", "selector")],
}
WORK = {
    Review: ["solver", "critic", "solver", "critic", "solver"],
    Planning: ["planner", "executor", "executor", "executor"],
    Voting: ["solver", "solver", "solver", "selector"],
}
KINDS = [Review, Voting, Planning]


def _lasting(kind, **options):
    """Make a primitive that takes all its rounds."""
    return make(kind, **options, **({"stop": "never"} if kind is Review else {}))


@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_defaults(kind):
    out = _lasting(kind)("why?", **SHORT)
    assert calls(out) == [(name, "latent") for name in WORK[kind][:-1]] + [(WORK[kind][-1], "text")]
    assert handovers(out) == CHAINS[kind]
    assert out.usage.latent == 2 * (len(WORK[kind]) - 1)
    assert out.usage.generative_calls == 1 and 1 <= out.usage.decoded <= 4
    assert set(out.usage.roles) == set(WORK[kind])
    sizes = {Review: ("rounds", 2), Voting: ("solvers", 3), Planning: ("executors", 3)}
    name, size = sizes[kind]
    assert getattr(make(kind), name) == size


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_twin_has_the_same_roles_and_shares_no_cache(kind):
    one, twin = _lasting(kind), _lasting(kind, comm="text")
    out = twin("why?", **SHORT)
    assert [name for name, _ in calls(out)] == WORK[kind]
    assert {inner for _, inner in calls(out)} == {"text"} and handovers(out) == []
    assert out.usage.relocated == out.usage.latent == 0
    assert out.usage.generative_calls == len(WORK[kind])
    assert {name for name in out.usage.roles} == set(one("why?", **SHORT).usage.roles)


@pytest.mark.parametrize("inner", ["latent", "text", "prefill"])
@pytest.mark.parametrize("kind", KINDS)
def test_inner_work_is_what_was_asked_for(kind, inner):
    out = _lasting(kind, inner=inner)("why?", **SHORT)
    assert [how for _, how in calls(out)] == [inner] * (len(WORK[kind]) - 1) + ["text"]
    assert handovers(out) == CHAINS[kind]
    assert (out.usage.latent > 0) == (inner == "latent")
    assert out.usage.generative_calls == (len(WORK[kind]) if inner == "text" else 1)
    assert len(out.ids) <= 4


@pytest.mark.parametrize("comm", ["kv", "text"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_questions_answers_like_single_calls(kind, comm):
    questions = ["why?", "what is the longest of these?"]
    batch = make(kind, comm=comm)(questions, **SHORT)
    for question, out in zip(questions, batch, strict=True):
        alone = make(kind, comm=comm)(question, **SHORT)
        assert out.ids == alone.ids and out.kv.ids == alone.kv.ids
        assert [(e.kind, e.role) for e in out.trace] == [(e.kind, e.role) for e in alone.trace]
        same(out.hidden, alone.hidden, 1e-2)
        assert out.usage.latent == alone.usage.latent
        assert out.usage.decoded == alone.usage.decoded


def test_voters_read_the_question_once():
    one = make(Voting)
    one("why?", **SHORT)
    cost = one("why?", **SHORT).usage.roles["solver"]
    question = len(one.solver.chat.turn([{"role": "user", "content": "why?"}]))
    close = len(one.solver.chat.close())
    assert cost.prefilled == question - 1 + 3 * (1 + close)
    assert cost.reused == len(one.solver.system_kv) * 3 + 2 * (question - 1)


def test_each_agent_is_asked_about_the_task():
    asked = {}
    for kind in KINDS:
        one = _lasting(kind)
        for name in {"solver", "critic", "selector", "planner", "executor"} & set(vars(one)):
            setattr(one, name, Heard(getattr(one, name)))
        one("how {many}?", **SHORT)
        asked[kind] = {
            name: value.turns for name, value in vars(one).items() if isinstance(value, Heard)
        }
    assert all(
        "how {many}?" in turn
        for roles in asked.values() for turns in roles.values() for call in turns for turn in call
    )  # fmt: skip
    assert asked[Voting]["solver"] == [["how {many}?"]]
    assert ["step 1 of 3" in turn for [turn] in asked[Planning]["executor"]] == [True, False, False]
    assert ["feedback" in turn for [turn] in asked[Review]["solver"]] == [False, True, True]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{"carry": "reply"}, {"comm": "text"}])
def test_what_a_reply_does_not_hold_is_handed_on_beside_it(kind, options):
    note = role("note")("a note", **SHORT)
    one = _lasting(kind, **options)
    last = {"Review": "solver", "Voting": "selector", "Planning": "executor"}[kind.__name__]
    heard = Heard(getattr(one, last))
    setattr(one, last, heard)
    seen = []
    one.address, address = (
        lambda i, t, s, **whole: seen.append(s) or address(i, t, s, **whole),
        one.address,
    )
    one("why?", context=[note], **SHORT)
    final = seen[-1][0]
    assert final[0] is note
    names = [getattr(sender, "name", None) for sender in final[1:]]
    expected = {
        Review: ["solver", "critic"], Voting: ["solver", "solver"],
        Planning: ["planner", "executor", "executor"],
    }  # fmt: skip
    assert names == expected[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_switch_reaches_every_join(kind):
    right = _lasting(kind, inner="prefill")
    wrong = _lasting(kind, inner="prefill", rotate=False)
    note = role("a note of some length")("a note", **SHORT)
    for switch in ({}, {"rotate": False}):
        for one in (right, wrong):
            for name in WORK[kind]:
                if not isinstance(getattr(one, name), Heard):
                    setattr(one, name, Heard(getattr(one, name)))
            one("why?", context=[note], **SHORT, **switch)
    for name in set(WORK[kind]):
        first = [options["rotate"] for options in getattr(right, name).options]
        half = len(first) // 2
        assert first == [True] * half + [False] * half, "the call's own switch reaches all agents"
        assert {o["rotate"] for o in getattr(wrong, name).options} == {False}
    a, b = right.think("why?", inner="prefill"), wrong.think("why?", inner="prefill")
    assert a.kv.ids == b.kv.ids
    assert float((a.hidden - b.hidden).abs().max()) > 0.1


def test_an_appended_chain_reads_one_text():
    out = make(Planning, inner="prefill", join="append")("why?", **SHORT)
    assert out.usage.relocated == 0
    same(out.kv.hidden, engine().prefill(out.kv.ids).hidden)
