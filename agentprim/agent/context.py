"""Context: what an agent gets from others, cut to what shall travel."""

from collections.abc import Sequence

from agentprim.agent.terms import Terms
from agentprim.cache.kv import KV, check_live
from agentprim.cache.marks import of_kind
from agentprim.cache.pool import Pool
from agentprim.engine.chat import Chat
from agentprim.engine.output import Output
from agentprim.engine.repair import Repair


def parts(
    context: Sequence[Output | KV],
    carry: str,
    pool: Pool,
    *,
    chat: Chat,
    system: list[int],
    front: bool,
) -> list[KV]:
    """Cut each sender's cache to what travels.

    A first token (BOS) travels only to the very front. The receiver's own system prompt does not
    travel back to it, whoever brings it. What is cut leaves a gap in the positions.

    Args:
        context: Outputs of other agents, or plain KVs, which travel whole but for the above.
        carry: `"all"`, `"no_system"` (no system prompt, of whomever), or `"reply"` (only what the
            sender said or thought, in a turn of its own).
        pool: The receiver's pool.
        chat: The receiver's template.
        system: Ids of the receiver's system prompt.
        front: Whether the first part stands at the very front; there it keeps its first token,
            and a prompt that is the receiver's own, which then need not be read again.

    Raises:
        TypeError, ValueError: Something in `context` has no cache, or one of another engine.
        PoolExhausted: A cut into many runs needs pages for a copy.
    """
    found = []
    for number, one in enumerate(context):
        name = f"context[{number}]"
        if isinstance(one, Output) and one.kv is None:
            raise ValueError(f"{name} must carry its cache, got text; pass it in the question")
        kv = check_live(one.kv if isinstance(one, Output) else one, name, pool)
        found.append(_cut(kv, _drop(one, kv, carry, chat, system, front and not number)))
    return found


def holds_system(kv: KV, system: list[int], chat: Chat) -> bool:
    """Tell whether a cache holds a system prompt, at its start or anywhere else."""
    return bool(_copies(kv, kv.ids, system, chat))


def check(join: str | Repair, carry: str, offsets: str) -> None:
    """Check the names of all choices.

    Raises:
        ValueError: One is unknown.
    """
    Terms.of(join, carry, offsets)


def _drop(
    one, kv: KV, carry: str, chat: Chat, system: list[int], front: bool
) -> list[tuple[int, int]]:
    """List begin and end of the runs of tokens that do not travel."""
    ids, systems = kv.ids, of_kind(kv.marks, "system")
    runs = [] if front else _copies(kv, ids, system, chat)
    if isinstance(one, Output) and carry == "no_system":
        runs += [*systems, (0, one.system_end)]
    elif isinstance(one, Output) and carry == "reply":
        runs.append((0, chat.reply_begin(ids, one.reply_start)))
    starts = {0, *kv.joints, *(begin for begin, _ in systems)}
    runs += [(i, i + 1) for i in starts if chat.is_bos(ids[i : i + 1])]
    if front and chat.is_bos(ids[:1]):
        runs = [(max(begin, 1), end) for begin, end in runs]
    return runs


def _copies(kv: KV, ids: list[int], system: list[int], chat: Chat) -> list[tuple[int, int]]:
    """Find system prompts of a cache that are the same text as `system`."""
    text = chat.without_bos(system)
    return [
        (begin, end)
        for begin, end in of_kind(kv.marks, "system")
        if text and chat.without_bos(ids[begin:end]) == text
    ]


def _cut(kv: KV, runs: list[tuple[int, int]]) -> KV:
    """Leave runs of tokens out; where the rest is one run, no index is listed."""
    kept, at = [], 0
    for begin, end in sorted((begin, end) for begin, end in runs if begin < end):
        if at < begin:
            kept.append((at, begin))
        at = max(at, end)
    if at < len(kv):
        kept.append((at, len(kv)))
    if len(kept) < 2:
        begin, end = kept[0] if kept else (0, 0)
        return kv[begin:end]
    return kv.select([i for begin, end in kept for i in range(begin, end)])
