"""The verbs on rows of ids and KVs, so that calls of several jobs run as one batch."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agentprim.cache.kv import KV
from agentprim.engine import decode
from agentprim.engine import prefill as reading
from agentprim.engine.batch import read_seeds
from agentprim.engine.output import Output
from agentprim.engine.read import reach
from agentprim.engine.repair import Repair, Repaired
from agentprim.engine.repair import repair as recompute
from agentprim.engine.sampling import Sampling
from agentprim.engine.seat import batched
from agentprim.engine.think import think
from agentprim.engine.voice import Voice

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine

Emit = Callable[[int, str], None]


def prefill(engine: "Engine", ids: list[list[int]], kvs: list[KV]) -> list[KV]:
    """Read ids behind KVs; see `Engine.prefill`."""

    def run(ids: list, kvs: list) -> list[KV]:
        return reading.prefill(engine, ids, kvs)

    key = ("prefill", id(engine), _tables(engine, kvs, map(len, ids)))
    return batched(key, run, ids, kvs, short=True)


def generate(
    engine: "Engine", ids: list[list[int]], kvs: list[KV], sampling: Sampling, emit: Emit | None,
    suffix: list[int],
) -> list[Output]:  # fmt: skip
    """Decode behind ids and KVs; see `Engine.generate`."""
    _check_seed(engine, sampling.seed, sampling.temperature)
    constraints = sampling.constraints(len(ids))
    seeds = read_seeds(sampling.seed, len(ids)) or [None] * len(ids)
    shared = replace(sampling, seed=None, constraint=None)

    def run(ids: list, kvs: list, seeds: list, constraints: list, voices: list) -> list[Output]:
        own = replace(
            shared,
            seed=None if None in seeds else seeds,
            constraint=constraints if any(one is not None for one in constraints) else None,
        )
        spoken = [voice and voice.attempt() for voice in voices]
        said = (lambda row, text: spoken[row](text)) if any(spoken) else None
        return decode.generate(engine, ids, kvs, own, emit=said, suffix=suffix)

    voices = [emit if emit is None else Voice(partial(emit, row)) for row in range(len(ids))]
    more = sampling.max_new_tokens + len(suffix)
    key = (
        "generate", id(engine), repr(shared), tuple(suffix), sampling.seed is None, emit is None,
        _tables(engine, kvs, [len(row) + more for row in ids]),
    )  # fmt: skip
    return batched(key, run, ids, kvs, seeds, constraints, voices)


def latent(
    engine: "Engine", kvs: list[KV], steps: int, *, settle: float | None, spread: float, seed
) -> list[KV]:
    """Take latent steps behind KVs; see `Engine.latent`."""

    def run(kvs: list, seeds: list) -> list[KV]:
        seed = None if None in seeds else seeds
        return think(engine, kvs, steps, settle=settle, spread=spread, seed=seed)

    _check_seed(engine, seed, spread)
    seeds = read_seeds(seed, len(kvs)) or [None] * len(kvs)
    tables = _tables(engine, kvs, [steps] * len(kvs))
    key = ("latent", id(engine), steps, settle, spread, seed is None, tables)
    return batched(key, run, kvs, seeds)


def repair(engine: "Engine", kvs: list[KV], how: Repair) -> list[Repaired]:
    """Recompute tokens of joined KVs; see `Engine.repair`."""

    def run(kvs: list) -> list[Repaired]:
        return recompute(engine, kvs, how)

    return batched(("repair", id(engine), how), run, kvs, short=True) if kvs else []


def _check_seed(engine: "Engine", seed, random: float) -> None:
    """Check that processes which hold a model together draw alike.

    Raises:
        ValueError: They would not.
    """
    if engine.mesh is not None and random and seed is None:
        raise ValueError("seed must be given where several processes hold a model, got none")


def _tables(engine: "Engine", kvs: list[KV], counts: Iterable[int]) -> Hashable:
    """Tell by which tables a call turns keys: equal for calls that may run as one.

    Beyond what is proved, the farthest row of a batch may decide for all: such a call stays alone.

    Args:
        engine: The model.
        kvs: What is cached.
        counts: Most tokens that come behind each.
    """
    rope = engine.pool.layout.rope
    near = rope is None or reach(kvs, counts) - 1 <= rope.max_position
    return None if near else object()
