"""Read what an agent is called with: a question, chat messages, or a batch of either."""

from collections.abc import Sequence

from agentprim.cache.kv import KV
from agentprim.engine.chat import Message


def read_rows(x) -> tuple[list[list[Message]], bool]:
    """Turn any accepted input into rows of messages, and tell whether it was a single one.

    Raises:
        TypeError, ValueError: The input is empty, of another type, or has a system turn.
    """
    if isinstance(x, str) or (isinstance(x, list | tuple) and x and isinstance(x[0], dict)):
        return [_messages(x)], True
    if not isinstance(x, list | tuple):
        raise TypeError(
            f"x must be a question, messages, or a list of them, got {type(x).__name__}"
        )
    if not x:
        raise ValueError("x must have at least one question, got none")
    return [_messages(one) for one in x], False


def read_contexts(context: Sequence, rows: int, single: bool) -> list[list]:
    """Give each row its senders: the same for all, or a list of lists, one each.

    Raises:
        TypeError, ValueError: No list, or lists, but not one for each row.
    """
    if isinstance(context, str | KV):  # an Output is a string: its letters are no senders
        raise TypeError(
            f"context must be a list of Outputs or KVs, got one {type(context).__name__}"
        )
    context = list(context)
    if single or not any(isinstance(one, list | tuple) for one in context):
        return [context for _ in range(rows)]
    if len(context) != rows:
        raise ValueError(f"context must have {rows} lists, got {len(context)}")
    if not all(isinstance(one, list | tuple) for one in context):
        raise TypeError("context must have a list for each question, got a mixture")
    return [list(one) for one in context]


def read_seeds(seed, rows: int, samples: int) -> list[int] | None:
    """Give each answer a seed, the samples of a question next to each other.

    Args:
        seed: A number for all questions, or one each; None for none.
        rows: Number of questions.
        samples: Answers to each; they draw with seeds of their own, the first with the given one.

    Raises:
        ValueError: There are seeds, but not one for each row.
    """
    if seed is None:
        return None
    seeds = [seed] * rows if isinstance(seed, int) else list(seed)
    if len(seeds) != rows:
        raise ValueError(f"seed must have {rows} entries, got {len(seeds)}")
    return [one + sample for one in seeds for sample in range(samples)]


def _messages(x) -> list[Message]:
    if not isinstance(x, str | list | tuple):
        raise TypeError(f"x must be a question or messages, got {type(x).__name__}")
    messages = [{"role": "user", "content": x}] if isinstance(x, str) else list(x)
    for message in messages:
        if not isinstance(message, dict) or not {"role", "content"} <= set(message):
            raise TypeError(f"messages must have role and content, got {message!r}")
        if not isinstance(message["content"], str):
            kind = type(message["content"]).__name__
            raise TypeError(f"messages must have text as content, got {kind}")
        if message["role"] == "system":
            raise ValueError("messages must have no system turn, got one; give it to the Agent")
    if not any(message["content"].strip() for message in messages):
        raise ValueError("x must have at least one token, got an empty question")
    return messages
