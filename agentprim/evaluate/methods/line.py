"""A line: one question on its way through agents, and what it cost so far."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from agentprim.agent import Agent
from agentprim.engine import Event, Output, Usage, together
from agentprim.evaluate.base import Extract, Limits

SILENT = "(no answer)"


@dataclass
class Line:
    """One question on its way.

    What it draws depends on its own seed and on how often it was its turn, and on no neighbour.

    Attributes:
        question: What was asked.
        seed: Of everything that is drawn for it.
        limits: Of each answer.
        agents: Whom it may ask, by role.
        extract: Reads the answer of a text, to compare it with others.
        usage: What it cost so far.
        trace: What happened so far.
        turns: Calls so far; each draws apart from the others.
    """

    question: str
    seed: int
    limits: Limits
    agents: Mapping[str, Agent]
    extract: Extract
    usage: Usage = field(default_factory=Usage)
    trace: list[Event] = field(default_factory=list)
    turns: int = 0

    def say(self, role: str, turn) -> Output:
        """Ask an agent, by text alone.

        Args:
            role: Who answers.
            turn: What it is asked: text, or chat messages.

        Returns:
            An answer without its cache; what it cost is counted.
        """
        return self.samples(role, turn, 1)[0]

    def samples(self, role: str, turn, count: int, **sampling) -> list[Output]:
        """Ask an agent for several answers; `sampling` overrides the limits, as in `Agent`."""
        return self._keep(self._ask(role, turn, self.draw(), count, sampling))

    def say_each(self, asked: Sequence[tuple[str, object]]) -> list[Output]:
        """Ask several agents at once, each a turn of its own: pairs of role and turn."""
        jobs = [partial(self._ask, role, turn, self.draw(), 1, {}) for role, turn in asked]
        return [self._keep(outputs)[0] for outputs in together(*jobs)]

    def paid(self, out: Output) -> Output:
        """Count what an answer cost, and keep its trace."""
        self.usage += out.usage
        self.trace += out.trace
        return out

    def note(self, kind: str, role: str, **detail) -> None:
        """Add an event to the trace."""
        self.trace.append(Event(kind=kind, role=role, detail=detail))

    def source(self, what: str) -> random.Random:
        """Return a source of randomness for one purpose."""
        return random.Random(f"{self.seed} {what}")

    def draw(self) -> int:
        """Return the seed of the next turn."""
        self.turns += 1
        return mixed(self.seed, self.turns - 1)

    def _ask(self, role: str, turn, seed: int, samples: int, sampling: dict) -> list[Output]:
        limits = self.limits
        options = {
            "max_new_tokens": limits.max_new_tokens, "temperature": limits.temperature,
            "top_p": limits.top_p, **sampling,
        }  # fmt: skip
        outputs = self.agents[role]([turn], seed=seed, samples=samples, **options)
        return [bare(out) for out in outputs]

    def _keep(self, outputs: Sequence[Output]) -> list[Output]:
        return [self.paid(out).but(usage=Usage(), trace=()) for out in outputs]


def diverse(limits: Limits, temperature: float, top_p: float) -> dict[str, float]:
    """Return sampling for answers that must differ: these, where the limits say greedy."""
    return {} if limits.temperature else {"temperature": temperature, "top_p": top_p}


def mixed(seed: int, turn: int = 0) -> int:
    """Draw a seed apart from those of neighbours, since samples of a question count on from it."""
    return random.Random(f"{seed} {turn}").getrandbits(48)


def bare(out: Output) -> Output:
    """Free an answer's cache and keep the rest."""
    if out.kv is not None:
        out.kv.release()
    return out.but(kv=None, hidden=None)


def words(text: str) -> str:
    """Return what can be quoted of an answer: something even where nothing was said."""
    return str(text).strip() or SILENT
