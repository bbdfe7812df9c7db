"""DyLAN from its definition: order, consensus, ranker, and who goes on."""

import re

import pytest

from agentprim.evaluate.methods import method
from tests.evaluate.methods.team import Script, calls, events, run

ROLES = ["mathematician", "programmer", "scientist", "doctor"]
ONE = ["why?"]


def differing(role, turn):
    """Give each agent an answer of its own; the ranker names the second and the fourth."""
    if role == "ranker":
        return "2, 4"
    return f"{'[1, 5, 2, 4] ' if 'First rate' in turn else ''}{role} {ROLES.index(role)}"


def test_without_consensus_all_speak_twice_and_the_two_best_a_third_time(monkeypatch):
    script = Script(monkeypatch, differing)
    orders = set()
    for seed in (1, 7):
        script.heard.clear()
        (out,) = run("dylan", ONE, [seed])
        spoke = script.roles()
        assert sorted(spoke[:4]) == sorted(spoke[4:8]) == sorted(ROLES)
        (rank,) = events(out, "rank")
        kept = [rank["order"][1], rank["order"][3]]
        assert rank["named"] == kept
        # the agents that the ranker named, not those at their places
        assert spoke[8] == "ranker" and sorted(spoke[9:]) == sorted(kept)
        shown = re.findall(r"Answer \d:\n(\w+)", script.turns("ranker")[0])[:4]
        assert shown == rank["order"]
        assert out.usage.generative_calls == 11
        orders.add((*rank["order"], *spoke[:4]))
    assert len(orders) == 2  # they are shuffled by the seed


def test_agents_rate_and_read_all_answers_of_the_round_before(monkeypatch):
    script = Script(monkeypatch, differing)
    (out,) = run("dylan", ONE, [1])
    again = [turn for role, turn in script.heard if "First rate" in turn]
    assert len(again) == 6 and all("these 4 answers" in turn for turn in again)
    for turn in again[:4]:
        assert sorted(re.findall(r"Answer \d:\n(\w+)", turn)[:4]) == sorted(ROLES)
    assert not any("[1, 5" in turn for turn in again[4:])  # ratings are not shown around
    assert not out.startswith("[")
    values = events(out, "importance")[0]
    # in each round importance sums to 1
    assert abs(sum(values.values()) - 3) < 1e-4 and set(values) == set(ROLES)


def test_three_of_four_are_a_consensus_before_the_fourth_is_asked(monkeypatch):
    script = Script(monkeypatch, lambda role, turn: "5")
    (out,) = run("dylan", ONE, [1])
    assert len(script.heard) == 3 and out == "5"
    assert events(out, "stop") == [{"round": 1, "spoke": 3, "stopped": True}]


def test_two_of_four_are_none_and_the_fourth_may_bring_it(monkeypatch):
    # of the first three two agree, so the fourth is asked, who makes them three
    said = iter(["5", "6", "5", "5"])
    script = Script(monkeypatch, lambda role, turn: next(said))
    (out,) = run("dylan", ONE, [1])
    assert len(script.heard) == 4 and out == "5"
    assert [stop["stopped"] for stop in events(out, "stop")] == [False, True]


def test_a_consensus_ends_one_question_and_no_other(monkeypatch):
    def speak(role, turn):
        return "5" if "why" in turn else differing(role, turn)

    Script(monkeypatch, speak)
    outs = run("dylan")
    assert [len(calls(out)) for out in outs] == [11, 3, 11]


def test_two_left_must_both_agree(monkeypatch):
    def speak(role, turn):
        return "5" if "First rate" in turn and len(script.heard) > 9 else differing(role, turn)

    script = Script(monkeypatch, speak)
    (out,) = run("dylan", ONE, [1], rounds=5)
    assert len(script.heard) == 11 and events(out, "stop")[-1]["stopped"]


def test_agents_must_differ():
    for roles in (("doctor", "doctor"), ("doctor", "ranker")):
        with pytest.raises(ValueError, match="roles must differ, and none be the ranker"):
            method("dylan", roles=roles)


def test_where_the_ranker_names_nobody_chance_decides(monkeypatch):
    def speak(role, turn):
        return "none, or 9" if role == "ranker" else differing(role, turn)

    Script(monkeypatch, speak)
    (out,) = run("dylan", ONE, [1])
    (rank,) = events(out, "rank")
    assert rank["named"] == [] and len(calls(out)) == 11
    assert sorted(calls(out)[9:]) == sorted(rank["order"][:2])
