"""Quality-Diversity: attempts that each must differ from those before, and a decision."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods.single import STEPS
from agentprim.evaluate.methods.talk import Talk, words
from agentprim.primitives.prompts import said

ANOTHER = (
    "Given the attempts before, find another interesting way to solve the task, and solve it step "
    "by step.\n\nTask: {task}"
)
DECIDE = "Reason over all attempts with care and give the final answer.\n\nTask: {task}"


@dataclass(frozen=True, kw_only=True)
class QualityDiversity:
    """Quality-Diversity, as the baseline of ADAS (arXiv 2408.08435) after arXiv 2206.13517.

    One step-by-step attempt, 3 more that each read those before and must be different, and a last
    agent that reasons over all. Not as in the papers: their prompts and JSON fields; attempts
    sample at temperature 0.5 and the decision at 0.1 there, here the limits say; no archive of
    solutions with measured quality is kept.

    Attributes:
        more: Attempts after the first.
    """

    name: str = "quality_diversity"
    about: str = "attempts that must differ, then a decision over all (arXiv 2408.08435)"
    more: int = 3

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer; see `Method`."""
        talk = Talk(engine, questions, limits, seeds)
        solver, decider = talk.agent("solver"), talk.agent("decider")
        known: list[list[tuple[str, str]]] = [[] for _ in talk.lines]
        for number in range(1 + self.more):
            for before, out in zip(
                known, self._ask(talk, solver, ANOTHER if number else STEPS, known), strict=True
            ):
                before.append((f"Attempt {number + 1}", words(out)))
        return talk.end(self._ask(talk, decider, DECIDE, known), self.name)

    @staticmethod
    def _ask(talk: Talk, agent, turn: str, known: list) -> list[Output]:
        turns = [
            said(turn.format(task=line.question), before)
            for line, before in zip(talk.lines, known, strict=True)
        ]
        return talk.say(agent, talk.lines, turns)
