"""Who writes plans: the local engine, an endpoint that speaks the OpenAI protocol, or a function.

A backend is called with chat messages and returns a `Reply`; what fails in it is a `PlanError`.
"""

from collections.abc import Callable, Sequence

from agentprim.engine import Engine
from agentprim.engine.chat import Message
from agentprim.organizer.local import Local
from agentprim.organizer.reply import Backend, Reply, Unanswered, alone


class Scripted:
    """A function from messages to text, for tests and for models of one's own."""

    def __init__(self, function: Callable[[Sequence[Message]], str]) -> None:
        """Take the function."""
        self._function = function

    def __call__(self, messages: Sequence[Message]) -> Reply:
        """Call it.

        Raises:
            Unanswered: It gives no text, or fails.
        """
        return alone([self._answer(messages)])

    def each(self, asked: Sequence[Sequence[Message]]) -> list[Reply | Unanswered]:
        """Call it for each, one after the other."""
        return [self._answer(messages) for messages in asked]

    def _answer(self, messages: Sequence[Message]) -> Reply | Unanswered:
        try:
            text = self._function(messages)
        except Exception as error:  # the others of a batch are still to be asked
            found = Unanswered(f"organizer has no plan: {type(error).__name__}: {error}")
            found.__cause__ = error
            return found
        if not isinstance(text, str):
            return Unanswered(f"organizer must answer with text, got {type(text).__name__}")
        return Reply(text=text)


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
