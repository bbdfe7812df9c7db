"""What a decider needs of whatever answers its questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agentprim.decide.question import Question


@dataclass(frozen=True, kw_only=True)
class Scores:
    """What a backend says of one question.

    Attributes:
        log_probs: One for each option, in the question's order, in nats up to a common constant.
        tokens: Tokens that were computed for it.
    """

    log_probs: tuple[float, ...]
    tokens: int


class Backend(Protocol):
    """Answers questions about a state, in parallel and each for itself."""

    def __call__(self, state, questions: Sequence[Question]) -> list[Scores]:
        """Score every option of every question.

        Args:
            state: What is judged: text, or a KV or an `Output` where the backend can read one.
            questions: At least one.
        """
