"""Reading: what an agent stands on before it answers, and what that cost."""

from dataclasses import dataclass, replace

from agentprim.cache.kv import KV
from agentprim.cache.marks import Mark
from agentprim.engine import Engine, Event, Output, Usage


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One row of a call before it is answered.

    Attributes:
        kv: The agent's system prompt with what it received.
        ids: Turns still to be read.
        reused: Tokens of `kv` that were not computed for this row.
        relocated: Of those, tokens that stand elsewhere than they were computed.
        recomputed: Tokens of `kv` that were computed again in their new place.
        system_end: Tokens from the start that are the agent's system prompt and first token.
        system: Begin and end of the agent's system prompt, if it is among `ids`.
        events: One per sender.
    """

    kv: KV
    ids: list[int]
    reused: int
    relocated: int
    recomputed: int
    system_end: int
    system: tuple[int, int] | None
    events: tuple[Event, ...]


def repeat(engine: Engine, readings: list[Reading], samples: int) -> list[Reading]:
    """Let several answers start from one reading: the prompt is read once, then forked.

    Returns:
        `samples` readings for each, next to each other, with one id left to read.

    Raises:
        ValueError: `samples` is below 1.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")
    if samples == 1:
        return readings
    shared = [reading.kv for reading in readings]
    heads = [reading.ids[:-1] for reading in readings]
    if all(heads):
        shared = engine.prefill(heads, shared)
    return [
        replace(
            reading,
            kv=kv.fork(),
            ids=reading.ids[-1:] if all(heads) else reading.ids,
            reused=reading.reused if number == 0 else len(kv),
            recomputed=reading.recomputed if number == 0 else 0,
        )
        for reading, kv in zip(readings, shared, strict=True)
        for number in range(samples)
    ]


def account(
    out: Output, reading: Reading, *, name: str, inner: str, seconds: float,
    decoded: int = 0, latent: int = 0, calls: int = 0, dropped: int = 0,
) -> Output:  # fmt: skip
    """Add cost, trace and marks to an answer; `dropped` tokens were computed and not kept."""
    cost = {
        "prefilled": len(out.kv) + dropped - reading.reused - reading.recomputed - decoded - latent,
        "decoded": decoded, "latent": latent, "reused": reading.reused,
        "relocated": reading.relocated, "recomputed": reading.recomputed,
        "generative_calls": calls, "seconds": seconds,
    }  # fmt: skip
    if reading.system is not None:
        begin, end = reading.system
        out.kv.marks += (Mark(begin=begin, end=end, kind="system"),)
    event = Event(kind="call", role=name, detail={"inner": inner, **cost})
    return out.but(
        usage=Usage.of(name, **cost), trace=(*reading.events, event),
        system_end=reading.system_end, name=name,
    )  # fmt: skip
