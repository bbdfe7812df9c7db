"""Run the cases: check, then time all providers of an op and a plain copy in turn."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from agentprim_kernels.bench.case import REFERENCE
from agentprim_kernels.bench.cases import CASES, COMPILED
from agentprim_kernels.bench.timing import seconds_of, torch_copy


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one provider of one op took.

    Attributes:
        op, provider: What was done, and by whom.
        ms: Median milliseconds.
        gb_per_s: Bytes that must be read and written, per second.
        share_of_copy: That rate as a share of a plain copy's of as many bytes, in the same rounds.
        sizes: Layers, tokens and spans.
    """

    op: str
    provider: str
    ms: float
    gb_per_s: float
    share_of_copy: float
    sizes: dict[str, int]


def run(
    names: Iterable[str] = tuple(CASES),
    *,
    device: str = "cpu",
    layers: int = 8,
    compiled: bool = False,
    rounds: int = 9,
    limit: float = 1.0,
    report: Callable[[str], None] = lambda _: None,
) -> list[Row]:
    """Check and time ops.

    Args:
        names: Keys of `CASES`.
        device: `"cpu"` or `"cuda"`.
        layers: Layers of each cache, 8 KV heads of 128 dims, 4,096 tokens, in bfloat16.
        compiled: Also time `torch.compile`, which takes its time to compile.
        rounds: Calls of each provider.
        limit: Seconds after which a slow provider is not called again.
        report: Called with what begins.

    Raises:
        AssertionError: A provider does not agree with the reference.
    """
    rows = []
    for name in names:
        case = CASES[name](layers=layers, device=device)
        chosen = [one for one in case.providers if one != COMPILED or compiled]
        if chosen[0] != REFERENCE:  # the oracle is no rival, and slow
            chosen.remove(REFERENCE)
        with torch.no_grad():
            for provider in chosen:
                report(f"{name} by {provider}")
                case.check(provider)
            works = [case.work(provider) for provider in chosen]
            copy, *times = seconds_of(
                torch_copy(case.moved, device), *works, rounds=rounds, warmup=1, limit=limit,
                device=device,
            )  # fmt: skip
        rows += [
            Row(
                op=name, provider=provider, ms=round(took * 1e3, 4),
                gb_per_s=round(case.moved / took / 1e9, 2), share_of_copy=round(copy / took, 4),
                sizes=case.about,
            )
            for provider, took in zip(chosen, times, strict=True)
        ]  # fmt: skip
    return rows
