"""The primitives of Agent Primitives, each alone, over caches or over text."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.agent import Agent
from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods.line import SILENT, bare, mixed
from agentprim.evaluate.methods.talk import ready
from agentprim.workflow.build import PRIMITIVES, PROMPTS


@dataclass(frozen=True, kw_only=True)
class Primitive:
    """Review, Voting or Planning, with four agents (or turns) as in *Agent Primitives*.

    arXiv 2602.03695: Review takes 2 rounds, Voting 3 solvers and a selector, Planning a planner
    and 3 executors. The paper's prompts are pictures, its stop rule and its vote are left open;
    ours are documented in `agentprim.primitives`. What inner agents do is `limits.inner`; the text
    twins always speak. With `rotate=False` keys are left unrotated, as in the paper's ablation.

    Attributes:
        kind: `"review"`, `"voting"` or `"planning"`.
        comm: `"kv"`, or `"text"` for the text twin.
        twin: Name of the text twin, None for a text twin.
        options: Further arguments of the primitive.
    """

    name: str
    about: str
    kind: str
    comm: str = "kv"
    twin: str | None = None
    options: dict = field(default_factory=dict)

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer; see `Method`."""
        if not questions:
            return []
        options = {**hands(limits, self.comm), **self.options}
        if self.kind == "voting" and limits.temperature:
            sampling = {"temperature": limits.temperature, "top_p": limits.top_p}
            options = {**sampling, **options}
        for role, system in PROMPTS[self.kind].items():
            options[role] = voiced(ready(engine, role, system), self.comm)
        primitive = PRIMITIVES[self.kind](engine, name=self.name, **options)
        return [bare(out).but(name=self.name) for out in ask(primitive, questions, limits, seeds)]


def hands(limits: Limits, comm: str) -> dict:
    """Return how inner agents work, as fields of `agentprim.primitives.Options`."""
    inner = limits.inner if comm == "kv" else "text"
    tokens = limits.max_new_tokens
    return {"comm": comm, "inner": inner, "steps": limits.steps, "inner_tokens": tokens}


def ask(system, questions: Sequence[str], limits: Limits, seeds: Sequence[int]) -> list[Output]:
    """Ask a primitive or a system about a batch of questions.

    Raises:
        ValueError: There is not one seed for each question.
    """
    return system(
        list(questions), max_new_tokens=limits.max_new_tokens, temperature=limits.temperature,
        top_p=limits.top_p, seed=[mixed(seed) for seed in seeds],
    )  # fmt: skip


class Voiced:
    """An agent whose inner replies are never blank: text that hands over must say something."""

    def __init__(self, agent: Agent) -> None:
        """Stand in for an agent."""
        self._agent, self.name = agent, agent.name

    def __call__(self, *args, **options):
        """Answer as the agent does."""
        return self._agent(*args, **options)

    def think(self, *args, inner: str = "latent", **options):
        """Think as the agent does, and say so where that gave no word."""
        outputs = self._agent.think(*args, inner=inner, **options)
        if inner != "text":
            return outputs
        return [out if str(out).strip() else out.but(text=SILENT) for out in outputs]


def voiced(agent: Agent, comm: str) -> Agent | Voiced:
    """Make sure that an agent of a text twin has something to hand over."""
    return Voiced(agent) if comm == "text" else agent
