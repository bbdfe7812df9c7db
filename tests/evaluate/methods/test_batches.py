"""A question is answered alike, and costs the same, whatever stands beside it in a batch."""

import gc

import pytest

from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods import method, methods
from agentprim.organizer import Organizer
from agentprim.workflow import Plan
from tests.evaluate.methods.team import QUESTIONS, SEEDS, calls, engine, events, expert, passes, run

DRAWN = Limits(max_new_tokens=2, steps=2, temperature=0.8, top_p=0.95)
# fewer rounds than in the papers, more than one where the number changes the path
SHORT = {
    "self_refine": {"attempts": 1}, "agentverse": {"turns": 2, "rounds": 1},
    "metagpt_control": {"repairs": 1}, "quality_diversity": {"more": 1},
    "self_consistency": {"samples": 2},
    **{name: {"calls": 3} for name in methods() if name.startswith("lite")},
}  # fmt: skip
PLAN = Plan.from_dict({"steps": [
    {"id": "a", "primitive": "solve"},
    {"id": "b", "primitive": "voting", "parameters": {"solvers": 2}, "inputs": ["query", "a"]},
]})  # fmt: skip
# by an option that another test covers
VARIANTS = ("_unrotated", "_unrepeated", "_no_pool", "_random", "_feedback", "_rule", "_router",
            "_screening", "_injected", "_aaa", "_abb")  # fmt: skip
NAMES = [name for name in methods() if not name.endswith(VARIANTS)]


def _options(name: str) -> dict:
    if name in ("primitives", "primitives_text"):
        # no grammar knows the tokenizer of the tiny engine
        return {"organizer": Organizer(lambda messages: PLAN.to_json())}
    return SHORT.get(name, {})


def _cost(out) -> dict:
    costs = out.usage.to_dict()
    return {role: {**cost, "seconds": 0} for role, cost in costs.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_answers_like_single_calls(name):
    options = _options(name)
    batch = run(name, limits=DRAWN, **options)
    assert [out.name for out in batch] == [name] * len(QUESTIONS)
    # in another order and with other neighbours: one alone, and two the other way round
    others = run(name, QUESTIONS[1:2], SEEDS[1:2], DRAWN, **options)
    others += run(name, QUESTIONS[::-2], SEEDS[::-2], DRAWN, **options)
    for out, alone in zip([batch[1], batch[2], batch[0]], others, strict=True):
        assert (str(out), out.ids, out.finish) == (str(alone), alone.ids, alone.finish)
        assert [(e.kind, e.role) for e in out.trace] == [(e.kind, e.role) for e in alone.trace]
        assert _cost(out) == _cost(alone)
    _accounted(name, batch)
    _spoken_or_handed(name, batch)


def _accounted(name: str, batch) -> None:
    for out in batch:
        assert out.kv is None  # an evaluation keeps texts, and pages are for the next batch
        worked = events(out, "call")
        assert worked and len(calls(out)) == len(worked)
        for count in ("prefilled", "decoded", "latent", "reused", "generative_calls"):
            total = sum(detail[count] for detail in worked)
            assert getattr(out.usage, count) == total, count
    gc.collect()
    for one in (engine(), expert()):
        assert one.pool.num_free == one.pool.num_pages, "pages stay in use"


def _spoken_or_handed(name: str, batch) -> None:
    """Text twins and methods of texts hand over no cache; the others do."""
    over_caches = name in (
        "latent_mas", "review", "voting", "planning", "primitives", "primitives_bm25",
        "lite", "lite_control", "lite_aba",
    )  # fmt: skip
    handed = sum(len(events(out, "handover")) for out in batch)
    assert (handed > 0) == over_caches
    if not over_caches:
        assert all(out.usage.latent == out.usage.relocated == 0 for out in batch)


@pytest.mark.parametrize(
    ("name", "options", "rows"),
    [
        ("single", {}, [3]),
        ("text_mas", {}, [3] * 4),
        ("llm_debate", {}, [9, 9]),  # a round of all questions is one batch
        ("dylan", {"rounds": 1}, [9, 3]),  # three of four agents at once, then the fourth
    ],
)
def test_questions_and_agents_share_passes(monkeypatch, name, options, rows):
    seen = passes(monkeypatch)
    run(name, limits=Limits(max_new_tokens=8, temperature=1.0), **options)
    assert seen == rows


def test_seeds_decide_what_is_drawn():
    one, again = (run("cot", limits=DRAWN) for _ in range(2))
    assert [str(out) for out in one] == [str(out) for out in again]
    longer = Limits(max_new_tokens=8, temperature=1.0)
    other = run("cot", ["why?"] * 3, [1, 1, 2], longer)
    assert other[0] == other[1] != other[2]


@pytest.mark.parametrize("name", [name for name in methods() if "llm" not in name])
def test_no_question_is_no_answer(name):
    assert method(name)(engine(), [], DRAWN, []) == []
