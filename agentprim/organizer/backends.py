"""Who writes plans: the local engine, an endpoint that speaks the OpenAI protocol, or a function.

A backend is called with chat messages and returns a `Reply`; where it has no answer, that is
`Unanswered`, a `PlanError`. Other faults are raised as they are.
"""

from collections.abc import Callable, Sequence

from agentprim.engine import Engine
from agentprim.engine.chat import Message
from agentprim.organizer.local import Local
from agentprim.organizer.reply import Backend, Reply, Unanswered, alone


class Scripted:
    """A function from messages to text, for tests and for models of one's own.

    It may return a `Reply` instead, and raises `Unanswered` where there is no answer and the
    fallback is to stand in. Anything else that it raises ends the call, that of a whole batch, too.
    """

    def __init__(self, function: Callable[[Sequence[Message]], str | Reply | None]) -> None:
        """Take the function."""
        self._function = function

    def __call__(self, messages: Sequence[Message]) -> Reply:
        """Call it.

        Raises:
            Unanswered: It raises that, or returns None.
            TypeError: It returns something else than text or a `Reply`.
        """
        return alone([self._answer(messages)])

    def each(self, asked: Sequence[Sequence[Message]]) -> list[Reply | Unanswered]:
        """Call it for each, one after the other.

        Raises:
            TypeError: As a call.
        """
        return [self._answer(messages) for messages in asked]

    def _answer(self, messages: Sequence[Message]) -> Reply | Unanswered:
        try:
            said = self._function(messages)
        except Unanswered as fault:  # the others of a batch are still to be asked
            return fault
        if said is None:
            return Unanswered("organizer must answer with text, got NoneType")
        if isinstance(said, str):
            return Reply(text=said)
        if not isinstance(said, Reply):
            raise TypeError(f"llm must return text or a Reply, got {type(said).__name__}")
        return said


def backend(llm) -> Backend:
    """Make a backend of an engine, a backend, or a function.

    Raises:
        TypeError: It is none of them.
    """
    if isinstance(llm, Engine):
        return Local(llm)
    if isinstance(llm, Backend):
        return llm
    if callable(llm):
        return Scripted(llm)
    raise TypeError(f"llm must be an Engine, a Remote or a function, got {type(llm).__name__}")
