"""Means with bootstrap intervals, and the rows of a certificate from the records of its items."""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median

import numpy as np

from agentprim.engine.certificate import Fidelity, Interval
from agentprim.engine.way import Way
from agentprim.trust.ways import ORDER

_DRAWS = 2000


def interval(values: Sequence[float], *, seed: int = 0) -> Interval:
    """Return the mean of values with its 95 % percentile bootstrap interval.

    Items are drawn again with replacement, 2,000 times; the same values give the same interval.

    Raises:
        ValueError: There are none.
    """
    if not len(values):
        raise ValueError("values must have at least one number, got none")
    numbers = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(numbers), (_DRAWS, len(numbers)))
    low, high = np.quantile(numbers[drawn].mean(axis=1), (0.025, 0.975))
    mean = float(numbers.mean())
    # rounding may put an end of a flat interval beyond its mean
    return Interval(
        mean=mean, low=min(float(low), mean), high=max(float(high), mean), n=len(numbers)
    )


def summarise(records: Iterable[dict]) -> tuple[Fidelity, ...]:
    """Turn records `{"senders": n, "rows": [...]}` into one row for each size and way."""
    cells: dict[tuple[int, int, Way], list[dict]] = {}
    for record in records:
        for row in record["rows"]:
            key = record["senders"], row["length"], Way(**row["way"])
            cells.setdefault(key, []).append(row)
    found = [_fidelity(*key, rows) for key, rows in cells.items()]
    rank = {way: number for number, way in enumerate(ORDER)}
    return tuple(
        sorted(found, key=lambda one: (one.senders, one.receiver_tokens, rank.get(one.way, 99)))
    )


def share_right(records: Iterable[dict]) -> float | None:
    """Return the share of single-sender items that the text hand-over answers rightly."""
    right = [
        row["right"]
        for record in records
        if record["senders"] == 1
        for row in record["rows"]
        if "right" in row
    ]
    return fmean(right) if right else None


def _fidelity(senders: int, length: int, way: Way, rows: list[dict]) -> Fidelity:
    def of(name: str) -> Interval | None:
        values = [row[name] for row in rows if row.get(name) is not None]
        if any(not math.isfinite(value) for value in values):
            raise ValueError(f"{name} must be finite, got {values}")
        return interval(values) if values else None

    timed = [row["seconds"] for row in rows if row.get("seconds") is not None]
    return Fidelity(
        way=way, receiver_tokens=length, senders=senders, kl=of("kl"), kl_text=of("kl_text"),
        top1=of("top1"), top1_text=of("top1_text"), answer=of("answer"),
        answer_text=of("answer_text"), prefilled=fmean(row["prefilled"] for row in rows),
        recomputed=fmean(row["recomputed"] for row in rows),
        seconds=median(timed) if timed else None,
    )  # fmt: skip
