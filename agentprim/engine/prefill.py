"""Prefill: rows of about one length as a padded batch, ragged ones as one line without padding."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentprim.cache.kv import KV
from agentprim.engine.pack import can_pack, read_packed
from agentprim.engine.read import read

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine

PADDING = 0.05  # share of a padded batch from which on a line is quicker, measured on a CPU


def prefill(engine: "Engine", ids: list[list[int]], kvs: list[KV]) -> list[KV]:
    """Run ids behind KVs and keep them; return a new KV for each row, with its last state."""
    if not is_ragged(engine, ids):
        return read(engine, ids, kvs)[0]
    found, states = read_packed(engine, ids, kvs, extend=True)
    for kv, state in zip(found, states, strict=True):
        kv.hidden = state[-1].clone()
    return found


def is_ragged(engine: "Engine", ids: Sequence[list[int]]) -> bool:
    """Tell whether rows differ so much in length that they should not be padded."""
    counts = [len(row) for row in ids]
    return sum(counts) < (1 - PADDING) * max(counts) * len(counts) and can_pack(engine)
