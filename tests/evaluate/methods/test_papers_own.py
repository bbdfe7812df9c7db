"""The sequence of LatentMAS, the primitives, the systems and the registry."""

import pytest

from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods import method, methods
from agentprim.evaluate.methods.line import SILENT
from agentprim.organizer.builtin import builtin
from tests.evaluate.methods.team import LIMITS, QUESTIONS, Script, calls, events, passes, run

BOTH_PAPERS = (
    "single cot self_consistency text_mas latent_mas review voting planning review_text "
    "voting_text planning_text primitives lite lite_control llm_debate self_refine "
    "quality_diversity spp agentverse gptswarm dylan mas_gpt metagpt_control agentnet_control"
).split()
FOUR = ["planner", "critic", "refiner", "judger"]


def test_four_agents_by_text_read_all_before_them(monkeypatch):
    script = Script(monkeypatch, lambda role, turn: "" if role == "critic" else f"by {role}")
    seen, outs = passes(monkeypatch), run("text_mas")
    assert script.roles() == [role for role in FOUR for _ in range(3)] and seen == [3] * 4
    assert outs == ["by judger"] * 3
    judger = script.turns("judger")[1]
    assert "Planner:\nby planner" in judger and "Refiner:\nby refiner" in judger
    assert f"Critic:\n{SILENT}" in judger and "Task: why?" in judger  # silence is quoted too


def test_latent_thoughts_stand_in_one_cache_that_only_grows():
    (out,) = run("latent_mas", ["why?"], [1], Limits(max_new_tokens=2, steps=3))
    assert calls(out) == FOUR and out.usage.latent == 9 and out.usage.generative_calls == 1
    handed = events(out, "handover")
    assert [one["sender"] for one in handed] == FOUR[:3]
    assert {one["join"] for one in handed} == {"append"}
    assert out.usage.relocated == out.usage.recomputed == 0
    worked = events(out, "call")
    lengths = [0, *(one["tokens"] for one in handed)]
    for before, after, one in zip(lengths, lengths[1:], worked, strict=False):
        assert after == before + one["prefilled"] + one["latent"]  # nothing is read twice or lost


@pytest.mark.parametrize("inner", ["latent", "text", "prefill"])
def test_limits_say_what_inner_agents_do(inner):
    limits = Limits(max_new_tokens=2, steps=2, inner=inner)
    for name, agents in (("review", 5), ("voting", 4), ("planning", 4)):
        options = {"stop": "never"} if name == "review" else {}
        (out,) = run(name, ["why?"], [1], limits, options=options)
        inners = [one["inner"] for one in events(out, "call")]
        assert inners == [inner] * (agents - 1) + ["text"]
        assert out.usage.latent == (2 * (agents - 1) if inner == "latent" else 0)


@pytest.mark.parametrize("name", ["review", "voting", "planning"])
def test_twins_have_the_same_agents_and_one_shares_no_cache(name):
    options = {"stop": "never"} if name == "review" else {}
    one, twin = run(name, options=options)[0], run(f"{name}_text", options=options)[0]
    assert calls(one) == calls(twin)
    assert events(one, "handover") and not events(twin, "handover")
    assert all(detail["rotate"] for detail in events(one, "handover"))
    assert one.usage.generative_calls == 1 < twin.usage.generative_calls == len(calls(twin))


@pytest.mark.filterwarnings("ignore::agentprim.errors.NotRotated")
def test_the_ablation_leaves_keys_unrotated():
    for name in ("review", "voting", "planning"):
        (out,) = run(f"{name}_unrotated", ["why?"], [1])
        assert not any(detail["rotate"] for detail in events(out, "handover"))


def test_a_task_that_is_not_repeated_is_read_less_often():
    for name in ("review", "planning"):
        often, less = (run(one, ["why?" * 9], [1])[0] for one in (name, f"{name}_unrepeated"))
        assert calls(often) == calls(less)
        assert often.usage.prefilled - less.usage.prefilled > len("why?" * 9)


def test_mas_gpt_takes_plans_of_its_own_source_and_speaks():
    own = {entry.id for entry in builtin() if entry.source.startswith("MAS-GPT")}
    for out in run("mas_gpt"):
        (plan,) = events(out, "plan")
        assert set(plan["entries"]) <= own and plan["source"] == "bm25-top1"
        assert {one["inner"] for one in events(out, "call")} == {"text"}
    with pytest.raises(ValueError, match="knowledge must be builtin, none or a source's number"):
        run("primitives_bm25", knowledge="elsewhere")


def test_decisions_are_read_out_by_lite_and_generated_by_its_control():
    (lite,) = run("lite", ["why?"], [1], calls=3)
    (control,) = run("lite_control", ["why?"], [1], calls=3)
    assert lite.usage.decision_calls > 0 == control.usage.decision_calls
    assert lite.usage.generative_calls <= 3 and control.usage.generative_calls <= 3
    assert {"execution"} <= set(lite.usage.roles) and "routing" in control.usage.roles


def test_methods_are_found_by_name_and_changed_by_option():
    known = methods()
    assert all(name == one.name and one.about for name, one in known.items())
    assert set(BOTH_PAPERS) <= set(known)
    twins = [one.twin for one in known.values() if getattr(one, "twin", None)]
    assert set(twins) <= set(known) and len(twins) == 13
    assert method("self_consistency", samples=9).samples == 9
    with pytest.raises(ValueError, match="method must be one of .*'single'.*, got 'sinlge'"):
        method("sinlge")
    with pytest.raises(TypeError):
        method("single", rounds=2)


def test_each_question_needs_a_seed():
    with pytest.raises(ValueError, match="seeds must have 3 entries, got 1"):
        method("single")(None, QUESTIONS, LIMITS, [1])
