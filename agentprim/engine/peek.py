"""Peek: what a model would say next, shown to a person who looks into a KV."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentprim.cache.kv import KV
from agentprim.engine import decode

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine


def peek(engine: "Engine", kv: KV, n: int) -> str:
    """Say the `n` most likely next tokens behind a KV, one after the other."""
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    first = int(engine.logits(engine.last_hidden(kv)).argmax())
    if n == 1 or first in decode.eos_ids(engine):
        return _say(engine, [first])
    with engine.generate([first], kv, max_new_tokens=n - 1).kv as said:
        return _say(engine, said.ids[len(kv) :])


def _say(engine: "Engine", ids: Sequence[int]) -> str:
    """Turn ids into text, special tokens included; the ids themselves without a tokenizer."""
    if engine.tokenizer is None:
        return " ".join(map(str, ids))
    return engine.tokenizer.decode(list(ids), clean_up_tokenization_spaces=False)
