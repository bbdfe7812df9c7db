"""What a backend is and gives: a model that writes plans, and what it wrote."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from agentprim.engine import Usage
from agentprim.engine.chat import Message
from agentprim.errors import PlanError


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a backend wrote.

    Attributes:
        text: The answer.
        cut: Whether a limit of tokens ended it.
        usage: What it cost here; tokens of an endpoint are not among it.
    """

    text: str
    cut: bool = False
    usage: Usage = field(default_factory=Usage)


class Unanswered(PlanError):
    """A backend gave nothing that could be read, and asking again would not help."""


@runtime_checkable
class Backend(Protocol):
    """Anything that answers chat messages."""

    def __call__(self, messages: Sequence[Message]) -> Reply:
        """Answer.

        Raises:
            Unanswered: There is no answer.
        """
        ...

    def each(self, asked: Sequence[Sequence[Message]]) -> list[Reply | Unanswered]:
        """Answer several, each as if it were alone: who has no answer gets the fault instead."""
        ...


def alone(found: Sequence[Reply | Unanswered]) -> Reply:
    """Return the answer of a batch of one.

    Raises:
        Unanswered: There is none.
    """
    (one,) = found
    if isinstance(one, Unanswered):
        raise one
    return one
