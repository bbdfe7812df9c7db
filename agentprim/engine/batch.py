"""Read what callers pass as one text, one list of ids, or a list of either, as a ragged batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agentprim.cache.kv import KV, check_live
from agentprim.cache.pool import Pool

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine


def read_ids(x, tokenizer, *, fresh: bool, vocab: int, argument: str = "x") -> list[int]:
    """Turn one text or one list of ids into ids.

    Args:
        x: A text, a sequence of ints, or a 1-D (or one-row) tensor.
        tokenizer: For texts; None where only ids are used.
        fresh: Whether nothing stands before, so that a text begins with the tokenizer's own
            first token (BOS); behind something else it never does.
        vocab: Number of ids that the model knows.
        argument: Name for messages.

    Raises:
        TypeError, ValueError: Empty, of another type, out of range, or a text without a tokenizer.
    """
    if isinstance(x, str):
        if not x:
            raise ValueError(f"{argument} must have at least one token, got ''")
        if tokenizer is None:
            raise ValueError(
                f"{argument} must be token ids for an engine without tokenizer, got text"
            )
        ids = list(tokenizer(x, add_special_tokens=fresh)["input_ids"])
    elif isinstance(x, Tensor) and not x.is_floating_point():
        ids = x.flatten().tolist()
    elif isinstance(x, Sequence) and all(isinstance(i, int) for i in x):
        ids = list(x)
    else:
        raise TypeError(f"{argument} must be text, ids, or a list of them, got {type(x).__name__}")
    if not ids:
        raise ValueError(f"{argument} must have at least one token, got none")
    if not 0 <= min(ids) <= max(ids) < vocab:
        wrong = next(i for i in ids if not 0 <= i < vocab)
        raise ValueError(f"{argument} must have ids within 0..{vocab - 1}, got {wrong}")
    return ids


def read_rows(engine: "Engine", x, kv) -> tuple[list[list[int]], list[KV], bool]:
    """Read `x` and `kv` as ids and KVs of rows, and tell whether the caller passed one of them.

    Raises:
        TypeError, ValueError: As `read_ids` and `read_kvs`.
    """
    single = not is_batch(x)
    xs = [x] if single else list(x)
    kvs = read_kvs(kv, engine.pool, len(xs))
    ids = [engine.encode(one, fresh=len(before) == 0) for one, before in zip(xs, kvs, strict=True)]
    return ids, kvs, single


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
    kvs = [kv] * count if isinstance(kv, KV) else list_kvs(kv, pool)
    if len(kvs) != count:
        raise ValueError(f"kv must have {count} entries, one for each x, got {len(kvs)}")
    return [check_live(one, "kv", pool) for one in kvs]


def list_kvs(kv, pool: Pool) -> list[KV]:
    """Read one KV, or a list of them, as a list.

    Raises:
        TypeError, ValueError: Something else, or a KV is not live or not of this pool.
    """
    if isinstance(kv, KV):
        kv = [kv]
    if not isinstance(kv, list | tuple):
        raise TypeError(f"kv must be a KV or a list of them, got {type(kv).__name__}")
    return [check_live(one, "kv", pool) for one in kv]


def read_seeds(seed, count: int) -> list[int] | None:
    """Give each of `count` rows a seed: `seed + row` for a number, or one each; None for none.

    Raises:
        TypeError, ValueError: Not a number, or not one for each row.
    """
    if seed is None:
        return None
    if isinstance(seed, int):
        return [seed + row for row in range(count)]
    if not isinstance(seed, list | tuple) or not all(isinstance(one, int) for one in seed):
        raise TypeError(f"seed must be an int or a list of them, got {seed!r}")
    if len(seed) != count:
        raise ValueError(f"seed must have {count} entries, one for each row, got {len(seed)}")
    return list(seed)


def generators(seeds: list[int] | None, count: int) -> list[torch.Generator | None]:
    """Make a source of randomness for each row; None follows torch's global state."""
    if seeds is None:
        return [None] * count
    return [torch.Generator().manual_seed(seed % 2**63) for seed in seeds]
