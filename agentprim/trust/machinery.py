"""The machinery: a query on joined caches, read in every way, against one plain forward pass."""

from collections.abc import Callable
from dataclasses import dataclass

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.cache.oracle import NotMaskable, blocked_logits, budget, read, relative_error
from agentprim.engine import Engine
from agentprim.errors import UnsupportedModel, VerificationFailed
from agentprim.rope.forward import probe_ids
from agentprim.rope.keep import undisturbed

_SIZES = (11, 21, 5)  # two parts that end inside a page of 16, one beyond it, and the query


@dataclass(frozen=True, kw_only=True)
class Machinery:
    """What was found.

    Attributes:
        errors: Relative error of the query's logits, by the way in which the cache was read.
        budget: The error allowed.
        note: `"measured"`, or why not.
    """

    errors: dict[str, float]
    budget: float
    note: str


def check_machinery(engine: Engine) -> Machinery:
    """Hold joined caches of a model to the join oracle: as spans, rotated in place, materialized.

    Raises:
        VerificationFailed: A way is off by more than rounding explains.
    """
    first, second, query = probe_parts(engine)
    allowed = budget(engine.pool.groups[0].k_cache.dtype)
    try:
        engine.pool.layout.require(len(first), first=0, last=len(second) - 1)
    except UnsupportedModel as error:
        return Machinery(errors={}, budget=allowed, note=f"not measured: {error}")
    kvs = read_parts(engine, [first, second])
    return compare(engine, kvs, [first, second], query)


def probe_parts(engine: Engine) -> tuple[list[int], list[int], list[int]]:
    """Choose the ids of two parts and of a query behind them."""
    ids = probe_ids(engine.model, sum(_SIZES))[0].tolist()
    a, b = _SIZES[0], _SIZES[0] + _SIZES[1]
    return ids[:a], ids[a:b], ids[b:]


def read_parts(engine: Engine, parts: list[list[int]]) -> list[KV]:
    """Read each part on its own."""
    with undisturbed(engine.model):
        return [read(engine.model, part, KV(engine.pool))[0] for part in parts]


def compare(engine: Engine, kvs: list[KV], parts: list[list[int]], query: list[int]) -> Machinery:
    """Compare a query on joined caches with one plain forward pass over the ids they claim to hold.

    Args:
        engine: The model.
        kvs: Caches of the parts, in order.
        parts: Their ids.
        query: Ids that see all parts.

    Raises:
        VerificationFailed: The caches are not those of the parts, or are not read rightly.
    """
    allowed = budget(engine.pool.groups[0].k_cache.dtype)
    starts = [0, *([len(parts[0])] * (len(parts) - 1)), len(parts[0]) + max(map(len, parts[1:]))]
    try:
        wanted = {
            "consecutive": blocked_logits(engine.model, parts, query),
            "shared": blocked_logits(engine.model, parts, query, starts=starts),
        }
    except NotMaskable as error:
        return Machinery(errors={}, budget=allowed, note=f"not measured: {error}")
    errors = {}
    with undisturbed(engine.model):
        for name, offsets, prepare in _WAYS:
            _, got = read(engine.model, query, prepare(join(kvs, offsets=offsets)))
            errors[name] = relative_error(got, wanted[offsets])
    wrong = {name: error for name, error in errors.items() if not error <= allowed}
    if wrong:
        name, error = max(wrong.items(), key=lambda pair: pair[1])
        raise VerificationFailed(
            f"{engine.pool.layout}: a joined cache read {name} is off by {error:.1e}, "
            f"rounding explains {allowed:.1e}; do not hand caches over on this machine"
        )
    return Machinery(errors=errors, budget=allowed, note="measured")


def _rotated(kv: KV) -> KV:
    """Turn the stored keys in place: on a private copy that was moved back before."""
    own = kv.materialize()
    back = own.moved(-3)
    own.release()
    back.rotate_()
    again = back.moved(3)
    back.release()
    again.rotate_()
    return again


_WAYS: tuple[tuple[str, str, Callable[[KV], KV]], ...] = (
    ("as spans", "consecutive", KV.fork),
    ("as spans at shared offsets", "shared", KV.fork),
    ("rotated in place", "consecutive", _rotated),
    ("materialized", "consecutive", KV.materialize),
)
