"""All methods by name."""

import re
from dataclasses import replace

from agentprim.evaluate.base import Method
from agentprim.evaluate.methods.agentnet import AgentNetControl
from agentprim.evaluate.methods.agentverse import AgentVerse
from agentprim.evaluate.methods.debate import Debate
from agentprim.evaluate.methods.diversity import QualityDiversity
from agentprim.evaluate.methods.dylan import Dylan
from agentprim.evaluate.methods.gptswarm import GptSwarm
from agentprim.evaluate.methods.lite import Lite
from agentprim.evaluate.methods.metagpt import MetaGptControl
from agentprim.evaluate.methods.primitive import Primitive
from agentprim.evaluate.methods.refine import SelfRefine
from agentprim.evaluate.methods.sequence import LatentMas, TextMas
from agentprim.evaluate.methods.single import STEPS, Single
from agentprim.evaluate.methods.spp import Spp
from agentprim.evaluate.methods.system import MasGpt, Primitives

KINDS = {
    "review": "a solver and a critic take turns",
    "voting": "independent solvers and a selector",
    "planning": "a planner and a chain of executors",
}
PAPER = "arXiv 2602.03695"
WORDS = {"router": "llm", "screening": "llm"}
BUDGET = re.compile(r"(lite\w*)-([1-9]\d*)")


def methods() -> dict[str, Method]:
    """Return all methods by name, in the order of the papers' tables."""
    found = [
        Single(),
        Single(name="cot", about="one agent, asked to think step by step (arXiv 2205.11916)",
               prompt=STEPS),
        Single(name="self_consistency", prompt=STEPS, samples=5,
               about="the majority of 5 chains of thought (arXiv 2203.11171)"),
        TextMas(),
        LatentMas(),
        *(Primitive(name=kind, kind=kind, twin=f"{kind}_text",
                    about=f"{about}, over caches ({PAPER})")
          for kind, about in KINDS.items()),
        *(Primitive(name=f"{kind}_text", kind=kind, comm="text",
                    about=f"{about}, by text: the twin of {kind}")
          for kind, about in KINDS.items()),
        *(Primitive(name=f"{kind}_unrotated", kind=kind, options={"rotate": False},
                    twin=f"{kind}_text",
                    about=f"{kind} with keys left unrotated: an ablation, wrong on purpose")
          for kind in KINDS),
        *(Primitive(name=f"{kind}_unrepeated", kind=kind, options={"restate": "last"},
                    twin=f"{kind}_text",
                    about=f"{kind}, the task is told to the first and the last agent only")
          for kind in KINDS),
        Primitives(twin="primitives_text"),
        Primitives(name="primitives_text", comm="text",
                   about="primitives by text: the twin of primitives"),
        Primitives(name="primitives_bm25", organizer="bm25-top1",
                   about="primitives, the plan that fits best by words instead of an Organizer"),
        Primitives(name="primitives_random", organizer="random",
                   about="primitives, a plan at random instead of an Organizer"),
        Primitives(name="primitives_no_pool", knowledge="none",
                   about="primitives, an Organizer without a knowledge pool"),
        Lite(twin="lite_text"),
        Lite(name="lite_text", comm="text", about="lite by text: the twin of lite"),
        Lite(name="lite_control", **WORDS, twin="lite_control_text",
             about="the team of lite, routed and reviewed in words throughout"),
        Lite(name="lite_control_text", **WORDS, comm="text",
             about="lite_control by text: the twin of lite_control"),
        Lite(name="lite_no_feedback", feedback=False,
             about="lite, its router sees who acted and not what they said"),
        Lite(name="lite_rule", router="rule", about="lite, each expert once in a fixed order"),
        Lite(name="lite_llm_router", router="llm", about="lite, routed in words"),
        Lite(name="lite_no_screening", screening="none", about="lite, all work is released"),
        Lite(name="lite_decider_screening", screening="decider",
             about="lite, screened by decisions alone, flagged work is repaired unreviewed"),
        Lite(name="lite_llm_screening", screening="llm", about="lite, all work reviewed in words"),
        Lite(name="lite_injected", inject=True, about="lite, an error put into its first work"),
        Lite(name="lite_control_injected", **WORDS, inject=True,
             about="lite_control, an error put into its first work"),
        *(Lite(name=f"lite_{team.lower()}", team=team,
               about=f"lite, analyst, solver and verifier of the models {', '.join(team)}")
          for team in ("AAA", "ABB", "ABA")),
        Debate(), SelfRefine(), QualityDiversity(), Spp(), AgentVerse(), GptSwarm(), Dylan(),
        MasGpt(), MetaGptControl(), AgentNetControl(),
    ]  # fmt: skip
    return {one.name: one for one in found}


def method(name: str, **options) -> Method:
    """Return a method.

    Args:
        name: As in `methods()`; `lite-4`, or that of another of its family with a number, has a
            budget of so many calls.
        options: Fields of the method to change.

    Raises:
        ValueError: There is no such method.
        TypeError: It has no such field.
    """
    known = methods()
    found = known.get(name) or _budget(name, known)
    if found is None:
        raise ValueError(f"method must be one of {list(known)}, got {name!r}")
    return replace(found, **options)


def _budget(name: str, known: dict[str, Method]) -> Lite | None:
    found = BUDGET.fullmatch(name)
    one = known.get(found[1]) if found else None
    if one is None:
        return None
    calls = int(found[2])
    twin = one.twin and f"{one.twin}-{calls}"
    return replace(one, name=name, calls=calls, twin=twin, about=f"{one.about}; {calls} calls")
