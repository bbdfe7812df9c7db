"""Solo Performance Prompting: one model plays several people who work together."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line
from agentprim.evaluate.methods.talk import Talk

SYSTEM = (
    "You solve a task by playing several people who work on it together. First name the "
    "participants that the task needs; the leader is always one of them. Then write their "
    "discussion: the leader proposes a solution, the others criticise it and add what they know, "
    "and the leader corrects it, until all agree. End with a line that begins with "
    "'Final answer:'."
)


@dataclass(frozen=True, kw_only=True)
class Spp(Talk):
    """Solo Performance Prompting (arXiv 2307.05300): personas talk within one reply.

    One call, as in the paper. Its prompt shows two worked examples of such a discussion (a game of
    24 and a poem); ours describes it. All of it counts against the tokens of one answer.
    """

    name: str = "spp"
    about: str = "one reply in which several personas work together (arXiv 2307.05300)"

    def cast(self) -> dict[str, str]:
        """Return the one role; see `Talk`."""
        return {"personas": SYSTEM}

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        return line.say("personas", line.question)
