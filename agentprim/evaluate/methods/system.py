"""Systems: an organizer that composes primitives for each question; and the plans of MAS-GPT."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.agent import Agent
from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods.line import bare
from agentprim.evaluate.methods.primitive import ask, hands, voiced
from agentprim.organizer import KnowledgePool, Local, Organizer, System
from agentprim.organizer.builtin import builtin
from agentprim.workflow.build import Agents


@dataclass(frozen=True, kw_only=True)
class Primitives:
    """*Agent Primitives* (arXiv 2602.03695): an Organizer composes primitives for each question.

    The paper's Organizer is GPT-5.2; here it is the model under test itself, held to a schema,
    unless `organizer` is another. Its pool of 45 structures is not published; ours has structures
    of the same five sources. Its ablations are `organizer="random"` and `knowledge="none"`.

    Attributes:
        organizer: `"llm"`, `"random"`, `"bm25-top1"`, `"fixed:<id>"`, or anything that proposes.
        knowledge: `"builtin"`, `"none"`, or the arXiv number of one source.
        comm: `"kv"`, or `"text"` for the text twin.
        twin: Name of the text twin, None for a text twin.
        options: Further options of the system, such as `rotate`.
    """

    name: str = "primitives"
    about: str = "an Organizer composes primitives over caches (arXiv 2602.03695)"
    organizer: object = "llm"
    knowledge: str = "builtin"
    comm: str = "kv"
    twin: str | None = None
    options: dict = field(default_factory=dict)

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer; see `Method`."""
        if not questions:
            return []
        pool = _pool(self.knowledge)
        chosen = Organizer(Ready(engine), pool) if self.organizer == "llm" else self.organizer
        system = System(
            engine, organizer=chosen, knowledge=pool, name=self.name,
            agents=Team(engine, self.comm), **{**hands(limits, self.comm), **self.options},
        )  # fmt: skip
        return [bare(out) for out in ask(system, questions, limits, seeds)]


@dataclass(frozen=True, kw_only=True)
class MasGpt(Primitives):
    """MAS-GPT (arXiv 2503.03686), as far as its model is at hand: it is not.

    The paper trains a 32B model that writes a system as Python for each question, and runs that
    program, with tools that execute code. Here the plan is the one of our pool's plans of that
    source (its published base designs, as data) that fits a question best by words, and its agents
    speak by text. So this shows the structures, not the model that chooses and invents them.
    """

    name: str = "mas_gpt"
    about: str = "published base designs of MAS-GPT, chosen by words, by text (arXiv 2503.03686)"
    organizer: object = "bm25-top1"
    knowledge: str = "2503.03686"
    comm: str = "text"


class Team(Agents):
    """Agents whose system prompts are read before they are asked, so no question pays for it."""

    def __init__(self, engine: Engine, comm: str) -> None:
        """Keep agents for one way to communicate."""
        super().__init__(engine)
        self._comm = comm

    def __call__(self, name: str, system: str, **sampling):
        """Return the agent of a prompt."""
        agent = super().__call__(name, system, **sampling)
        agent.prepare()
        return voiced(agent, self._comm)


class Ready(Local):
    """The engine as organizer, whose system prompt is read before it is asked."""

    def agent(self, system: str) -> Agent:
        """Return who writes under a system prompt, which is read already."""
        agent = super().agent(system)
        agent.prepare()
        return agent


def _pool(knowledge: str) -> KnowledgePool | None:
    if knowledge == "none":
        return None
    if knowledge == "builtin":
        return KnowledgePool.builtin()
    entries = tuple(entry for entry in builtin() if entry.arxiv == knowledge)
    if not entries:
        raise ValueError(f"knowledge must be builtin, none or a source's number, got {knowledge!r}")
    return KnowledgePool(base=lambda: entries)
