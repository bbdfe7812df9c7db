"""All methods by name."""

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
        Lite(name="lite_control", words=True, twin="lite_control_text",
             about="the team of lite, routed and reviewed in words throughout"),
        Lite(name="lite_control_text", words=True, comm="text",
             about="lite_control by text: the twin of lite_control"),
        Debate(), SelfRefine(), QualityDiversity(), Spp(), AgentVerse(), GptSwarm(), Dylan(),
        MasGpt(), MetaGptControl(), AgentNetControl(),
    ]  # fmt: skip
    return {one.name: one for one in found}


def method(name: str, **options) -> Method:
    """Return a method.

    Args:
        name: As in `methods()`.
        options: Fields of the method to change.

    Raises:
        ValueError: There is no such method.
        TypeError: It has no such field.
    """
    known = methods()
    if name not in known:
        raise ValueError(f"method must be one of {list(known)}, got {name!r}")
    return replace(known[name], **options)
