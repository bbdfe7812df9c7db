"""The lite family: one thing changed in each, budgets by name, errors on purpose, two models."""

import pytest

from agentprim.evaluate.answer import summary
from agentprim.evaluate.methods import lite, method, methods
from tests.evaluate.methods.team import (
    LIMITS,
    QUESTIONS,
    SEEDS,
    Script,
    engine,
    events,
    expert,
    run,
)

WORDS = "the sum of 12 and 5 is 17"


def routed(out) -> set[str]:
    """Tell what chose, where there was a choice."""
    return {event["by"] for event in events(out, "route")} - {"only one"}


def looked(out) -> set[str]:
    """Tell what looked at work."""
    return {event.kind for event in out.trace if event.kind in ("screen", "review")}


@pytest.mark.parametrize(
    ("name", "by"),
    [("lite", "decider"), ("lite_rule", "rule"), ("lite_llm_router", "llm"),
     ("lite_control", "llm")],
)  # fmt: skip
def test_routers(name, by, monkeypatch):
    Script(monkeypatch, lambda role, turn: "verifier" if role == "reviewer" else WORDS, lite)
    (out,) = run(name, ["why?"], [1])
    assert routed(out) == {by}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("lite", {"screen", "review"}), ("lite_no_screening", set()),
     ("lite_decider_screening", {"screen"}), ("lite_llm_screening", {"review"})],
)  # fmt: skip
def test_screenings(name, kinds, monkeypatch):
    Script(monkeypatch, lambda role, turn: WORDS, lite)
    monkeypatch.setattr(lite.Decider, "passes", lambda self, decision, criterion: False)
    (out,) = run(name, ["why?"], [1])
    assert looked(out) == kinds
    detection = summary(out).get("detection")
    assert (detection is None) == (not kinds) and (not kinds or detection["alarms"] >= 1)


def test_without_feedback_work_is_not_routed_by_what_it_says(monkeypatch):
    Script(monkeypatch, lambda role, turn: WORDS, lite)
    for name, heard in (("lite_llm_router", True), ("lite_no_feedback", False)):
        script = Script(monkeypatch, lambda role, turn: f"analyst {WORDS}", lite)
        run(name, ["why?"], [1], router="llm", screening="none", comm="text", calls=4)
        second = script.turns("reviewer")[1]
        assert (WORDS in second) == heard and "Choose who acts next" in second


def test_a_number_behind_a_name_is_a_budget():
    for calls in (2, 3):
        (out,) = run(f"lite_llm_screening-{calls}", ["why?"], [1])
        assert out.usage.generative_calls == calls and out.name == f"lite_llm_screening-{calls}"
    assert method("lite-4").twin == "lite_text-4" and method("lite_text-4").comm == "text"
    assert method("lite-4").calls == 4 and "4 calls" in method("lite-4").about
    for wrong in ("lite-0", "lite-", "single-4", "lites-4", "lite-4-4"):
        with pytest.raises(ValueError, match=f"method must be one of .*, got '{wrong}'"):
            method(wrong)


@pytest.mark.parametrize("name", ["lite_injected", "lite_control_injected"])
def test_an_error_is_put_into_the_first_work_the_same_whatever_the_batch(name, monkeypatch):
    Script(monkeypatch, lambda role, turn: "STOP" if role == "reviewer" else WORDS, lite)
    batch = run(name)
    others = run(name, QUESTIONS[::-2], SEEDS[::-2]) + run(name, QUESTIONS[1:2], SEEDS[1:2])
    for out, alone in zip([batch[2], batch[0], batch[1]], others, strict=True):
        (one,) = events(out, "inject")
        assert [one] == events(alone, "inject") and str(out) == str(alone)
        assert one["artifact"] == 0 and one["before"] == WORDS
        found = summary(out)["detection"]
        assert found["changed"] == found["injected"] == 1 and found == summary(alone)["detection"]
    changes = {
        str(events(out, "inject")[0]["wording"]) for out in run(name, ["why?"] * 6, range(6))
    }
    assert len(changes) > 2
    assert not any(events(out, "inject") for out in run(name.removesuffix("_injected")))


@pytest.mark.parametrize("team", ["aaa", "abb", "aba"])
def test_experts_of_two_models(team, monkeypatch):
    hired = []

    class Noted(lite.Agent):
        def __init__(self, engine, system, *, name, **options):
            hired.append((name, engine))
            super().__init__(engine, system, name=name, **options)

    monkeypatch.setattr(lite, "Agent", Noted)
    (out,) = run(f"lite_{team}", ["why?"], [1], router="rule", screening="none")
    models = {"a": engine(), "b": expert()}
    letters = [models[letter] for letter in team]
    assert hired == [*zip(lite.EXPERTS, letters, strict=True), ("reviewer", engine())]
    handed = [event["sender"] for event in events(out, "handover")]
    # a cache goes to whoever has the model of its maker
    assert handed == {"aaa": ["analyst", "solver"], "abb": ["solver"], "aba": ["analyst"]}[team]


def test_a_team_of_two_models_is_refused_without_the_second():
    assert [name for name, one in methods().items() if getattr(one, "takes_expert", False)] == [
        "lite_abb", "lite_aba",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="expert must be the engine of model B for lite_aba"):
        method("lite_aba")(engine(), ["why?"], LIMITS, [1])
