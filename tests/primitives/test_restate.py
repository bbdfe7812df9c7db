"""A task that stands in the caches handed over need not be said again."""

import pytest

import agentprim as ap
from agentprim import Planning, Review, Voting
from agentprim.primitives.prompts import REVISE, worded
from tests.engine.making import engine
from tests.primitives.team import SHORT, Heard, make, role

QUESTION = "Why is the sky blue?"
ASIDE = [{"role": "user", "content": "Be brief."}, {"role": "assistant", "content": "Yes."}]
ROLES = {
    Review: ("solver", "critic"), Voting: ("solver", "selector"), Planning: ("planner", "executor"),
}  # fmt: skip


def said(kind, restate: str, **options) -> list[list[str]]:
    """Return what each agent is asked, all messages of each turn, in order."""
    first, second = (Heard(role(name)) for name in ROLES[kind])
    stop = {"stop": "never"} if kind is Review else {}
    one = make(kind, restate=restate, **dict(zip(ROLES[kind], (first, second), strict=True)),
               **stop, **options)  # fmt: skip
    turns = []
    for agent in (first, second):
        agent._note = _noting(agent, turns)
    one([*ASIDE, {"role": "user", "content": QUESTION}], **SHORT)
    return turns


def _noting(agent: Heard, turns: list):
    def note(call, given, context, options):
        turns.append([message["content"] for message in given[0]])
        return call(given, context=context, **options)

    return note


@pytest.mark.parametrize("kind", list(ROLES))
def test_each_turn_repeats_the_task_unless_told_otherwise(kind):
    always, last, never = (said(kind, how) for how in ("always", "last", "never"))
    count = len(always)
    assert len(last) == len(never) == count >= 2
    assert [QUESTION in turn[-1] for turn in always] == [True] * count
    assert [QUESTION in turn[-1] for turn in last] == [True, *[False] * (count - 2), True]
    assert [QUESTION in turn[-1] for turn in never] == [True, *[False] * (count - 1)]
    for turn, shown in zip(last, [True, *[False] * (count - 2), True], strict=True):
        assert len(turn) == (3 if shown else 1)  # so do the messages before it
    assert not any("Task:" in turn[-1] or "{" in turn[-1] for turn in never[1:])


@pytest.mark.parametrize("kind", list(ROLES))
@pytest.mark.parametrize("options", [{"comm": "text"}, {"carry": "reply"}], ids=["text", "reply"])
def test_a_task_that_does_not_travel_is_repeated(kind, options):
    assert all(QUESTION in turn[-1] for turn in said(kind, "never", **options))


def test_a_stranger_s_cache_does_not_hold_the_task():
    critic = Heard(role("critic"))
    note = role("reader").think("A note.", inner="prefill")
    one = make(Review, critic=critic, restate="never", rounds=1)
    solver = Heard(one.solver)
    one.solver = solver
    one(QUESTION, context=[note], **SHORT)
    assert solver.turns[0] == [QUESTION] and QUESTION not in critic.turns[0][0]


def test_a_primitive_in_a_role_is_told_the_task():
    inner = make(Planning, restate="never")
    planner = Heard(inner.planner)
    inner.planner = planner
    make(Review, solver=inner, restate="never", stop="never", rounds=1)(QUESTION, **SHORT)
    assert len(planner.turns) == 2 and all(QUESTION in turn[0] for turn in planner.turns)


def test_a_turn_without_a_line_for_the_task_says_it():
    assert worded(REVISE, QUESTION, whole=False) == REVISE.split("\n\n")[0]
    for template in ("{task}", "About {task}: say more."):
        assert QUESTION in worded(template, QUESTION, whole=False)


def test_what_is_not_repeated_is_not_read():
    spent = [
        make(Planning, restate=how)(QUESTION * 5, **SHORT).usage.prefilled
        for how in ("always", "last", "never")
    ]
    assert spent[0] > spent[1] > spent[2]


def test_the_choice_is_checked():
    with pytest.raises(ValueError, match="restate must be one of"):
        ap.Review(engine(), restate="sometimes")
