"""Context: what an agent gets from others, cut to what shall travel."""

from collections.abc import Sequence

from agentprim.cache.join import OFFSETS
from agentprim.cache.kv import KV, check_live
from agentprim.cache.pool import Pool
from agentprim.engine.output import Output

JOINS = ("relocate", "append")
CARRIES = ("all", "no_system", "reply")


def parts(context: Sequence[Output | KV], carry: str, pool: Pool) -> list[KV]:
    """Cut each sender's cache to what travels.

    Args:
        context: Outputs of other agents, or plain KVs, which travel whole.
        carry: `"all"` (the sender's system prompt and first token too), `"no_system"` (without
            both), or `"reply"` (only what it said or thought).
        pool: The receiver's pool.

    Raises:
        TypeError, ValueError: Something in `context` has no cache, or one of another engine.
    """
    found = []
    for number, one in enumerate(context):
        name = f"context[{number}]"
        if isinstance(one, Output):
            if one.kv is None:
                raise ValueError(f"{name} must carry its cache, got text; pass it in the question")
            start = {"all": 0, "no_system": one.system_end, "reply": one.reply_start}[carry]
            found.append(check_live(one.kv, name, pool)[start:])
        else:
            found.append(check_live(one, name, pool).fork())
    return found


def check(join: str, carry: str, offsets: str) -> None:
    """Check the names of all choices.

    Raises:
        ValueError: One is unknown.
    """
    if join not in JOINS:
        raise ValueError(f"join must be one of {JOINS}, got {join!r}")
    if carry not in CARRIES:
        raise ValueError(f"carry must be one of {CARRIES}, got {carry!r}")
    if offsets not in OFFSETS:
        raise ValueError(f"offsets must be one of {OFFSETS}, got {offsets!r}")
