"""Self-Refine: a model criticises its own answer and mends it until it is content."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line, words
from agentprim.evaluate.methods.talk import Talk
from agentprim.evaluate.methods.verdict import opens
from agentprim.primitives.prompts import said

FEEDBACK = (
    "Check the last answer to the task. If nothing must change, reply with the one word CORRECT. "
    "Otherwise say exactly what is wrong and how to mend it. Do not answer the task."
    "\n\nTask: {task}"
)
REFINE = "Answer the task again and heed all feedback on the answers so far.\n\nTask: {task}"


@dataclass(frozen=True, kw_only=True)
class SelfRefine(Talk):
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

    def cast(self) -> dict[str, None]:
        """Return the roles; see `Talk`."""
        return {"solver": None, "feedback": None, "refiner": None}

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        last = line.say("solver", line.question)
        known = [("Answer", words(last))]
        for attempt in range(self.attempts):
            feedback = line.say("feedback", said(FEEDBACK.format(task=line.question), known))
            done = opens(feedback, "correct")
            line.note("stop", self.name, round=attempt + 1, stopped=done)
            if done:
                break
            known.append(("Feedback", words(feedback)))
            last = line.say("refiner", said(REFINE.format(task=line.question), known))
            known.append(("Answer", words(last)))
        return last
