"""Talk: agents that work for a batch of questions turn by turn, and what each question cost."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.agent import Agent
from agentprim.engine import Engine, Event, Output, Usage
from agentprim.evaluate.base import Extract, Limits
from agentprim.evaluate.methods.last import last_answer

SILENT = "(no answer)"


@dataclass
class Line:
    """One question on its way.

    Attributes:
        question: What was asked.
        seed: Of everything that is drawn for it.
        extract: Reads the answer of a text, to compare it with others.
        usage: What it cost so far.
        trace: What happened so far.
        turns: Calls so far; each draws apart from the others.
    """

    question: str
    seed: int
    extract: Extract = last_answer
    usage: Usage = field(default_factory=Usage)
    trace: list[Event] = field(default_factory=list)
    turns: int = 0

    def note(self, kind: str, role: str, **detail) -> None:
        """Add an event to the trace."""
        self.trace.append(Event(kind=kind, role=role, detail=detail))

    def source(self, what: str) -> random.Random:
        """Return a source of randomness for one purpose, the same whatever the batch."""
        return random.Random(f"{self.seed} {what}")


class Talk:
    """A batch of questions, and agents that are asked about some or all of them at once.

    What a question draws depends on its own seed and on how often it was its turn, so neither
    the batch nor the end of another question changes it.

    Attributes:
        lines: The questions.
    """

    def __init__(
        self,
        engine: Engine,
        questions: Sequence[str],
        limits: Limits,
        seeds: Sequence[int],
        extracts: Sequence[Extract] | None = None,
    ) -> None:
        """Begin; without `extracts` answers are compared by `last_answer`.

        Raises:
            ValueError: There is not one seed, or not one of `extracts`, for each question.
        """
        if extracts is None:
            extracts = [last_answer] * len(questions)
        for name, given in (("seeds", seeds), ("extracts", extracts)):
            if len(given) != len(questions):
                raise ValueError(f"{name} must have {len(questions)} entries, got {len(given)}")
        self.engine, self.limits = engine, limits
        self.lines = [Line(*one) for one in zip(questions, seeds, extracts, strict=True)]

    def agent(self, name: str, system: str | None = None) -> Agent:
        """Make an agent whose system prompt is read already; see `ready`."""
        return ready(self.engine, name, system)

    def say(
        self, agent: Agent, lines: Sequence[Line], turns: Sequence, *, samples: int = 1, **sampling
    ) -> list[Output]:
        """Ask an agent about some questions, as one batch, by text alone.

        Args:
            agent: Who answers.
            lines: The questions; one may be there several times.
            turns: What the agent is asked for each: text, or chat messages.
            samples: Answers to each, next to each other.
            sampling: Overrides the limits, as in `Agent`.

        Returns:
            Answers without caches; what they cost is counted.
        """
        if not lines:
            return []
        limits = self.limits
        options = {
            "max_new_tokens": limits.max_new_tokens, "temperature": limits.temperature,
            "top_p": limits.top_p, **sampling,
        }  # fmt: skip
        outputs = agent(list(turns), seed=draw(lines), samples=samples, **options)
        count(lines, outputs)
        return [bare(out).but(usage=Usage(), trace=()) for out in outputs]

    def diverse(self, temperature: float, top_p: float) -> dict[str, float]:
        """Return sampling for answers that must differ: these, where the limits say greedy."""
        if self.limits.temperature:
            return {}
        return {"temperature": temperature, "top_p": top_p}

    def end(self, outputs: Sequence[Output], name: str) -> list[Output]:
        """Give each answer all that led to it."""
        return [
            bare(out).but(usage=line.usage, trace=tuple(line.trace), name=name)
            for line, out in zip(self.lines, outputs, strict=True)
        ]


def ready(engine: Engine, name: str, system: str | None = None) -> Agent:
    """Make an agent and read its system prompt, which then counts as reused for every question.

    So what a question costs does not depend on whether it is the first of its batch.
    """
    agent = Agent(engine, system, name=name)
    agent.prepare()
    return agent


def mixed(seed: int, turn: int = 0) -> int:
    """Draw a seed apart from those of neighbours, since samples of a question count on from it."""
    return random.Random(f"{seed} {turn}").getrandbits(48)


def draw(lines: Sequence[Line]) -> list[int]:
    """Return a seed for each question's next turn. Modifies their count of turns."""
    seeds = []
    for line in lines:
        seeds.append(mixed(line.seed, line.turns))
        line.turns += 1
    return seeds


def count(lines: Sequence[Line], outputs: Sequence[Output]) -> None:
    """Add what answers cost, and their traces, to their questions. Modifies the lines."""
    each = len(outputs) // len(lines)
    for number, out in enumerate(outputs):
        line = lines[number // each]
        line.usage += out.usage
        line.trace += out.trace


def bare(out: Output) -> Output:
    """Free an answer's cache and keep the rest."""
    if out.kv is not None:
        out.kv.release()
    return out.but(kv=None, hidden=None)


def words(text: str) -> str:
    """Return what can be quoted of an answer: something even where nothing was said."""
    return str(text).strip() or SILENT
