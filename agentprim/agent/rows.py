"""Read what an agent is called with: a question, chat messages, or a batch of either."""

from collections.abc import Sequence

from agentprim.agent.chat import Message


def read_rows(x) -> tuple[list[list[Message]], bool]:
    """Turn any accepted input into rows of messages, and tell whether it was a single one.

    Raises:
        TypeError, ValueError: The input is empty, of another type, or has a system turn.
    """
    if isinstance(x, str) or (isinstance(x, list | tuple) and x and isinstance(x[0], dict)):
        return [_messages(x)], True
    if not isinstance(x, list | tuple) or not x:
        raise TypeError(f"x must be a question, messages, or a list of them, got {x!r}")
    return [_messages(one) for one in x], False


def read_contexts(context: Sequence, rows: int, single: bool) -> list[list]:
    """Give each row its senders: the same for all, or a list of lists, one each.

    Raises:
        ValueError: There are lists, but not one for each row.
    """
    context = list(context)
    if single or not any(isinstance(one, list | tuple) for one in context):
        return [context for _ in range(rows)]
    if len(context) != rows:
        raise ValueError(f"context must have {rows} lists, got {len(context)}")
    return [list(one) for one in context]


def _messages(x) -> list[Message]:
    messages = [{"role": "user", "content": x}] if isinstance(x, str) else list(x)
    for message in messages:
        if not isinstance(message, dict) or not {"role", "content"} <= set(message):
            raise TypeError(f"messages must have role and content, got {message!r}")
        if message["role"] == "system":
            raise ValueError("messages must have no system turn, got one; give it to the Agent")
    if not any(message["content"].strip() for message in messages):
        raise ValueError("x must have at least one token, got an empty question")
    return messages
