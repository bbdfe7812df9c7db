"""Decisions follow the states: other states, another decision."""

import pytest
import torch

from agentprim import Decider, Review, Voting
from agentprim.decide.backend import Scores
from tests.engine.making import engine
from tests.primitives.team import SHORT, Heard, calls, decisions, make


class Fixed(Heard):
    """A solver whose states are given, one list of states for each call."""

    def __init__(self, agent, states) -> None:
        super().__init__(agent)
        self._states = iter(states)

    def think(self, turns, **options):
        outs = super().think(turns, **options)
        return [out.but(hidden=state) for out, state in zip(outs, next(self._states), strict=True)]


def _unit(*angles):
    """Make states in a plane, by their angles in degrees."""
    states = []
    for angle in angles:
        state = torch.zeros(64)
        turn = torch.deg2rad(torch.tensor(float(angle)))
        state[0], state[1] = torch.cos(turn), torch.sin(turn)
        states.append(state)
    return states


def _review(*states, **options):
    one = make(Review, **options)
    one.solver = Fixed(one.solver, states)
    return one


@pytest.mark.parametrize(("second", "stopped"), [(0.0, True), (5.0, True), (9.0, False)])
def test_a_state_that_hardly_moves_ends_the_review(second, stopped):
    out = _review(_unit(0), _unit(second))("why?", **SHORT)
    (found,) = decisions(out, "stop")
    assert found["stopped"] is stopped and found["round"] == 2
    assert found["value"] == pytest.approx(float(torch.cos(torch.deg2rad(torch.tensor(second)))))
    roles = ["solver", "critic", "solver", *([] if stopped else ["critic"]), "solver"]
    assert [role for role, _ in calls(out)] == roles


def test_a_stopped_review_answers_on_its_last_solution():
    one = _review(_unit(0), _unit(0))
    one("why?", **SHORT)
    assert one.solver.contexts[-1][0][0].kv is one.solver.outputs[1][0].kv


def test_questions_of_a_batch_stop_on_their_own():
    one = _review(_unit(0, 0), _unit(0, 90), _unit(90), rounds=3)
    one.critic = Heard(one.critic)
    first, second = one(["why?", "how?"], **SHORT)
    assert [len(turns) for turns in one.critic.turns] == [2, 1]
    assert [d["stopped"] for d in decisions(first, "stop")] == [True]
    assert [d["stopped"] for d in decisions(second, "stop")] == [False, True]


def test_real_states_that_are_forced_to_repeat_stop_where_free_ones_go_on():
    free = make(Review)("why?", **SHORT)
    (found,) = decisions(free, "stop")
    assert not found["stopped"]
    again = make(Review, threshold=found["value"] - 1e-3)("why?", **SHORT)
    assert decisions(again, "stop")[0]["stopped"]
    one = engine()
    latent, fixed = one.latent, one.latent(one.prefill([5, 6]), 1).hidden

    def same_state(kvs, *args, **options):
        found = latent(kvs, *args, **options)
        for kv in found:
            kv.hidden = fixed
        return found

    one.latent = same_state
    try:
        assert decisions(make(Review)("why?", **SHORT), "stop")[0]["stopped"]
    finally:
        del one.latent


def test_the_words_rule_measures_the_next_token():
    one = make(Review, stop="words")
    a, b = (one.engine.prefill(ids).hidden for ids in ([5, 6, 7], [8, 9, 10]))
    old, new = (torch.softmax(one.engine.logits(h), -1).double() for h in (a, b))
    assert one.change(a, b) == pytest.approx(float((old * (old / new).log()).sum()), rel=1e-4)
    assert one.change(a, a) == pytest.approx(0, abs=1e-6)
    for second, stopped in ((a, True), (b, False)):
        out = _review([a], [second], stop="words")("why?", **SHORT)
        assert decisions(out, "stop")[0]["stopped"] is stopped


def test_never_is_never():
    out = _review(_unit(0), _unit(0), stop="never")("why?", **SHORT)
    assert decisions(out, "stop") == [] and len(calls(out)) == 5


@pytest.mark.parametrize(
    ("angles", "kept"), [((0, 10, 90), [0, 1]), ((90, 0, 10), [1, 2]), ((0, 90, 10), [0, 2])]
)
def test_the_outlier_is_dropped(angles, kept):
    one = make(Voting)
    one.solver, one.selector = Fixed(one.solver, [_unit(*angles)]), Heard(one.selector)
    out = one("why?", **SHORT)
    assert decisions(out, "vote")[0]["kept"] == kept
    (candidates,), (received,) = one.solver.outputs, one.selector.contexts[0]
    assert [x.kv for x in received] == [candidates[i].kv for i in kept]


def test_all_travel_where_nobody_is_voted_out():
    one = make(Voting, vote="all")
    one.solver, one.selector = Fixed(one.solver, [_unit(0, 90, 10)]), Heard(one.selector)
    one("why?", **SHORT)
    assert len(one.selector.contexts[0][0]) == 3


def test_support_is_the_mean_cosine_with_the_others():
    states = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    expected = [
        sum(float(torch.cosine_similarity(states[i], states[j], dim=0)) for j in range(4) if j != i)
        / 3
        for i in range(4)
    ]
    assert make(Voting).support(states) == pytest.approx(expected, abs=1e-5)
    assert make(Voting).support(states[:1]) == [1.0]


def test_other_pushes_keep_other_candidates():
    kept, support = set(), set()
    for seed in range(6):
        (vote,) = decisions(make(Voting, spread=0.5, seed=seed)("why?", **SHORT), "vote")
        kept.add(tuple(vote["kept"]))
        support.add(tuple(round(s, 4) for s in vote["support"]))
        best = sorted(range(3), key=lambda i: -vote["support"][i])[:2]
        assert vote["kept"] == sorted(best)
    assert len(kept) > 1 and len(support) == 6
    (still,) = decisions(make(Voting, spread=0.0)("why?", **SHORT), "vote")
    assert still["support"] == pytest.approx([1, 1, 1], abs=1e-4)


def test_events_stand_in_the_order_of_the_work():
    out = make(Review)("why?", **SHORT)
    kinds = [e.kind for e in out.trace]
    assert kinds.index("stop") == max(i for i, e in enumerate(out.trace[:-4]) if e.role == "solver"
                                      and e.kind == "call") + 1  # fmt: skip
    vote = [e.kind for e in make(Voting)("why?", **SHORT).trace]
    assert vote == ["call"] * 3 + ["vote", "handover", "handover", "call"]


@pytest.mark.parametrize(("sure", "rounds"), [(True, 1), (False, 2)])
def test_a_judge_may_end_a_review_from_the_first_round_on(sure, rounds):
    asked = []

    def backend(state, questions):
        asked.append(state)
        return [Scores(log_probs=(2.0, 0.0) if sure else (0.0, 2.0), tokens=9)]

    one = make(Review, stop="judge", decider=Decider(backend))
    out = one("why?", **SHORT)
    assert [found["stopped"] for found in decisions(out, "stop")] == [sure] * rounds
    assert len(asked) == rounds and all(state.kv is not None for state in asked)
    cost = out.usage.roles["review"]
    assert (cost.decision_calls, cost.decision_tokens) == (rounds, 9 * rounds)
    by_model = make(Review, stop="judge", threshold=0.0)("why?", **SHORT)
    assert [role for role, _ in calls(by_model)] == ["solver", "solver"]
