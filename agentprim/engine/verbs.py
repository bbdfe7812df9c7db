"""The verbs on rows of ids and KVs, so that calls of several jobs run as one batch."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agentprim.cache.kv import KV
from agentprim.engine import decode
from agentprim.engine import prefill as reading
from agentprim.engine.batch import read_seeds
from agentprim.engine.output import Output
from agentprim.engine.sampling import Sampling
from agentprim.engine.seat import batched
from agentprim.engine.think import think

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine

Emit = Callable[[int, str], None]


def prefill(engine: "Engine", ids: list[list[int]], kvs: list[KV]) -> list[KV]:
    """Read ids behind KVs; see `Engine.prefill`."""

    def run(ids: list, kvs: list) -> list[KV]:
        return reading.prefill(engine, ids, kvs)

    return batched(("prefill", id(engine)), run, ids, kvs, short=True)


def generate(
    engine: "Engine", ids: list[list[int]], kvs: list[KV], sampling: Sampling, emit: Emit | None,
    suffix: list[int],
) -> list[Output]:  # fmt: skip
    """Decode behind ids and KVs; see `Engine.generate`."""
    constraints = sampling.constraints(len(ids))
    seeds = read_seeds(sampling.seed, len(ids)) or [None] * len(ids)
    shared = replace(sampling, seed=None, constraint=None)

    def run(ids: list, kvs: list, seeds: list, constraints: list, voices: list) -> list[Output]:
        own = replace(
            shared,
            seed=None if None in seeds else seeds,
            constraint=constraints if any(constraints) else None,
        )
        said = (lambda row, text: voices[row](text)) if any(voices) else None
        return decode.generate(engine, ids, kvs, own, emit=said, suffix=suffix)

    voices = [emit and (lambda text, row=row: emit(row, text)) for row in range(len(ids))]
    key = (
        "generate", id(engine), repr(shared), tuple(suffix), sampling.seed is None, emit is None,
    )  # fmt: skip
    return batched(key, run, ids, kvs, seeds, constraints, voices)


def latent(
    engine: "Engine", kvs: list[KV], steps: int, *, settle: float | None, spread: float, seed
) -> list[KV]:
    """Take latent steps behind KVs; see `Engine.latent`."""

    def run(kvs: list, seeds: list) -> list[KV]:
        seed = None if None in seeds else seeds
        return think(engine, kvs, steps, settle=settle, spread=spread, seed=seed)

    seeds = read_seeds(seed, len(kvs)) or [None] * len(kvs)
    key = ("latent", id(engine), steps, settle, spread, seed is None)
    return batched(key, run, kvs, seeds)
