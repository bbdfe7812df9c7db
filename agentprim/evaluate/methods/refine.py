"""Self-Refine: a model criticises its own answer and mends it until it is content."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods.talk import Talk, words
from agentprim.evaluate.methods.verdict import opens
from agentprim.primitives.prompts import said

FEEDBACK = (
    "Check the last answer to the task. If nothing must change, reply with the one word CORRECT. "
    "Otherwise say exactly what is wrong and how to mend it. Do not answer the task."
    "\n\nTask: {task}"
)
REFINE = "Answer the task again and heed all feedback on the answers so far.\n\nTask: {task}"


@dataclass(frozen=True, kw_only=True)
class SelfRefine:
    """Self-Refine (arXiv 2303.17651): answer, feedback, refined answer, at most 4 times.

    It stops where feedback says that the answer is correct. Each refinement reads all answers and
    all feedback so far. Not as in the paper: its worked examples for each of the three prompts,
    which differ from task to task; mathematics is answered in words, not as a program; feedback
    is a verdict, without the scores that some of its tasks use.

    Attributes:
        attempts: Most refinements.
    """

    name: str = "self_refine"
    about: str = "answer, own feedback, refined answer, until content (arXiv 2303.17651)"
    attempts: int = 4

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer; see `Method`."""
        talk = Talk(engine, questions, limits, seeds)
        lines = talk.lines
        solver, critic = talk.agent("solver"), talk.agent("feedback")
        refiner = talk.agent("refiner")
        last = talk.say(solver, lines, [line.question for line in lines])
        known = [[("Answer", words(out))] for out in last]
        live = list(range(len(lines)))
        for attempt in range(self.attempts):
            judged = self._ask(talk, critic, FEEDBACK, live, known)
            going = []
            for i, out in zip(live, judged, strict=True):
                done = opens(out, "correct")
                lines[i].note("stop", self.name, round=attempt + 1, stopped=done)
                if not done:
                    known[i].append(("Feedback", words(out)))
                    going.append(i)
            live = going
            for i, out in zip(live, self._ask(talk, refiner, REFINE, live, known), strict=True):
                last[i] = out
                known[i].append(("Answer", words(out)))
        return talk.end(last, self.name)

    @staticmethod
    def _ask(talk: Talk, agent, turn: str, live: list[int], known: list) -> list[Output]:
        lines = [talk.lines[i] for i in live]
        turns = [said(turn.format(task=talk.lines[i].question), known[i]) for i in live]
        return talk.say(agent, lines, turns)
