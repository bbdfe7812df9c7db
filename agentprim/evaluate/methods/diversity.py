"""Quality-Diversity: attempts that each must differ from those before, and a decision."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line, words
from agentprim.evaluate.methods.single import STEPS
from agentprim.evaluate.methods.talk import Talk
from agentprim.primitives.prompts import said

ANOTHER = (
    "Given the attempts before, find another interesting way to solve the task, and solve it step "
    "by step.\n\nTask: {task}"
)
DECIDE = "Reason over all attempts with care and give the final answer.\n\nTask: {task}"


@dataclass(frozen=True, kw_only=True)
class QualityDiversity(Talk):
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

    def cast(self) -> dict[str, None]:
        """Return the roles; see `Talk`."""
        return {"solver": None, "decider": None}

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        known: list[tuple[str, str]] = []
        for number in range(1 + self.more):
            turn = ANOTHER if number else STEPS
            out = line.say("solver", said(turn.format(task=line.question), known))
            known.append((f"Attempt {number + 1}", words(out)))
        return line.say("decider", said(DECIDE.format(task=line.question), known))
