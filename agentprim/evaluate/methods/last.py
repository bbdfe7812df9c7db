"""The answer of a text that no task reads: what is boxed, or what is last."""

from agentprim.agent.aloud import aloud
from agentprim.evaluate.tasks.boxed import last_boxed
from agentprim.evaluate.tasks.numbers import last_number
from agentprim.evaluate.tasks.words import spoken


def last_answer(text: str) -> str | None:
    r"""Read an answer out of a text: the last `\boxed{}`, the last number, or the last words.

    Returns:
        A text to compare by, or None where there is nothing.
    """
    text = aloud(text)
    lines = filter(None, map(spoken, reversed(text.splitlines())))
    return last_boxed(text) or last_number(text) or next(lines, None)
