"""Join caches: a list concatenation with one delta per part, and nothing per token."""

import warnings
from collections.abc import Sequence

from agentprim.cache import marks
from agentprim.cache.kv import KV, check_live
from agentprim.cache.span import Span, merge
from agentprim.errors import UNROTATED, NotRotated

OFFSETS = ("consecutive", "shared")


def join(kvs: Sequence[KV], offsets: str = "consecutive", *, rotate: bool = True) -> KV:
    """Put caches behind each other without copying, rotating or rounding a key.

        K = [K_1 ; R(d_2) K_2 ; ...]        V = [V_1 ; V_2 ; ...]

    The first part stays where it is; each later part is moved so that its first token stands at
    its new place. The turn is applied to the query when attention reads the span. *Agent
    Primitives* (arXiv 2602.03695), Eq. 1. Exact for the keys; the parts never saw each other.

    All tokens are kept: a text that was read alone may begin with a first token (BOS) of its own,
    which `kv[1:]` leaves out. Agents do that by themselves.

    Args:
        kvs: At least one KV, all of one pool. None is changed.
        offsets: `"consecutive"` puts each part behind the one before; `"shared"` puts all parts
            but the first at the same place, behind the first, so that their order has no effect.
        rotate: False gives keys their new place but leaves them at the phase they were computed
            with: the paper's ablation, wrong on purpose, and warned about.

    Returns:
        A KV that shares the pages of all parts and knows where each begins (`kv.joints`).

    Raises:
        ValueError: There is nothing to join, a KV was released, or the pools differ.
        UnsupportedModel: The keys of this model cannot move that far, or not together.
    """
    if not rotate:
        warnings.warn(UNROTATED, NotRotated, stacklevel=2)
    return concatenate(kvs, offsets, rotate=rotate)


def concatenate(kvs: Sequence[KV], offsets: str = "consecutive", *, rotate: bool = True) -> KV:
    """Do what `join` does, without a warning, for callers that have warned."""
    if not kvs:
        raise ValueError("kvs must have at least one KV, got none")
    if offsets not in OFFSETS:
        raise ValueError(f"offsets must be one of {OFFSETS}, got {offsets!r}")
    pool = check_live(kvs[0], "kvs[0]").pool
    spans: list[Span] = []
    behind = 0
    for number, kv in enumerate(kvs):
        check_live(kv, f"kvs[{number}]", pool)
        start = min((span.start for span in kv.spans), default=0)
        by = behind - start if number else 0
        parts = [span.moved(by) if rotate else span.relabelled(by) for span in kv.spans]
        spans += parts
        if number == 0 or offsets == "consecutive":
            behind = max((span.stop for span in parts), default=behind)
    pool.layout.require_spans(spans)
    pool.layout.require_end(spans)
    known = marks.join([kv.marks for kv in kvs], [len(kv) for kv in kvs])
    return KV(pool, merge(spans, pool.page_size), marks=known)
