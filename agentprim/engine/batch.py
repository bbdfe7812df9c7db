"""Read what callers pass as one text, one list of ids, or a list of either, as a ragged batch."""

from collections.abc import Sequence

from torch import Tensor

from agentprim.cache.kv import KV, check_live
from agentprim.cache.pool import Pool


def read_ids(x, tokenizer, *, fresh: bool, argument: str = "x") -> list[int]:
    """Turn one text or one list of ids into ids.

    Args:
        x: A text, a sequence of ints, or a 1-D (or one-row) tensor.
        tokenizer: For texts; None where only ids are used.
        fresh: Whether nothing stands before, so that a text begins with the tokenizer's own
            first token (BOS); behind something else it never does.
        argument: Name for messages.

    Raises:
        TypeError, ValueError: Empty, of another type, or a text without a tokenizer.
    """
    if isinstance(x, str):
        if tokenizer is None:
            raise ValueError(
                f"{argument} must be token ids for an engine without tokenizer, got text"
            )
        ids = tokenizer(x, add_special_tokens=fresh)["input_ids"]
        if not x:
            raise ValueError(f"{argument} must have at least one token, got ''")
    elif isinstance(x, Tensor):
        ids = x.flatten().tolist()
    elif isinstance(x, Sequence) and all(isinstance(i, int) for i in x):
        ids = list(x)
    else:
        raise TypeError(f"{argument} must be text, ids, or a list of them, got {type(x).__name__}")
    if not ids:
        raise ValueError(f"{argument} must have at least one token, got none")
    return ids


def is_batch(x) -> bool:
    """Tell a list of texts or of id lists from one of them."""
    if isinstance(x, str):
        return False
    if isinstance(x, Tensor):
        return x.ndim > 1
    return isinstance(x, Sequence) and len(x) > 0 and not isinstance(x[0], int)


def read_kvs(kv, pool: Pool, count: int) -> list[KV]:
    """Give each of `count` rows its KV: one for all, one each, or an empty one.

    Raises:
        TypeError, ValueError: A KV is not live or not of this pool, or their number differs.
    """
    if kv is None:
        return [KV(pool) for _ in range(count)]
    kvs = [kv] * count if isinstance(kv, KV) else list(kv)
    if len(kvs) != count:
        raise ValueError(f"kv must have {count} entries, one for each x, got {len(kvs)}")
    return [check_live(one, "kv", pool) for one in kvs]
