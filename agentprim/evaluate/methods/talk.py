"""Talk: a method told as what one question goes through; a batch of them runs side by side."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from agentprim.agent import Agent
from agentprim.engine import Engine, Output, together
from agentprim.evaluate.base import Extract, Limits
from agentprim.evaluate.methods.last import last_answer
from agentprim.evaluate.methods.line import Line, bare


@dataclass(frozen=True, kw_only=True)
class Talk(ABC):
    """A method in which agents talk about one question, each question on a way of its own.

    Questions share forward passes wherever their agents speak at the same time; see
    `agentprim.together`.
    """

    name: str
    about: str
    takes_extracts = True

    @abstractmethod
    def cast(self) -> Mapping[str, str | None]:
        """Return the system prompt of each role; None leaves the template's own."""

    @abstractmethod
    def answer(self, line: Line) -> Output:
        """Answer one question."""

    def __call__(
        self,
        engine: Engine,
        questions: Sequence[str],
        limits: Limits,
        seeds: Sequence[int],
        extracts: Sequence[Extract] | None = None,
    ) -> list[Output]:
        """Answer; see `Method`. Without `extracts` answers are compared by `last_answer`.

        Raises:
            ValueError: There is not one seed, or not one of `extracts`, for each question.
        """
        if extracts is None:
            extracts = [last_answer] * len(questions)
        for name, given in (("seeds", seeds), ("extracts", extracts)):
            if len(given) != len(questions):
                raise ValueError(f"{name} must have {len(questions)} entries, got {len(given)}")
        if not questions:
            return []
        agents = {role: ready(engine, role, system) for role, system in self.cast().items()}
        rows = zip(questions, seeds, extracts, strict=True)
        return together(*(partial(self._whole, agents, limits, *row) for row in rows))

    def _whole(
        self, agents: dict[str, Agent], limits: Limits, question: str, seed: int, extract: Extract
    ) -> Output:
        """Answer a question from its beginning, with all that led to the answer."""
        line = Line(question, seed, limits, agents, cache(extract))  # a text is read several times
        out = bare(self.answer(line))
        return out.but(usage=line.usage, trace=tuple(line.trace), name=self.name)


def ready(engine: Engine, name: str, system: str | None = None) -> Agent:
    """Make an agent and read its system prompt, which then counts as reused for every question.

    So what a question costs does not depend on whether it is the first of its batch.
    """
    agent = Agent(engine, system, name=name)
    agent.prepare()
    return agent
