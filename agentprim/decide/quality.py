"""How good judgements are: calibration error, and what a threshold lets through."""

from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Figures of judgements of which the truth is known.

    Attributes:
        n: Judgements.
        base_rate: Share that holds.
        brier: Mean squared difference of probability and truth.
        ece: Expected calibration error: mean over judgements of the gap between mean probability
            and share that holds, in `bins` bins of equal count.
        auroc: Chance that a state that holds gets more than one that does not; 0.5 tells nothing.
        threshold: From which probability on a judgement passes.
        false_release: Share that passes of the states that do not hold.
        false_escalation: Share that is flagged of the states that hold.
        passed: Share of all that passes.
    """

    n: int
    base_rate: float
    brier: float
    ece: float
    auroc: float
    threshold: float
    false_release: float
    false_escalation: float
    passed: float

    def to_dict(self) -> dict:
        """Return the figures as plain data."""
        return asdict(self)


def quality(p: np.ndarray, holds: np.ndarray, threshold: float, *, bins: int = 10) -> Quality:
    """Measure judgements.

    Args:
        p: Probabilities fp64 `[n]`.
        holds: Truth, bool `[n]`, of both kinds.
        threshold: From which probability on a judgement passes.
        bins: For the calibration error.

    Raises:
        ValueError: The arrays differ in length, or one kind is missing.
    """
    if p.shape != holds.shape or p.ndim != 1:
        raise ValueError(f"p must have shape {holds.shape}, got {p.shape}")
    if holds.all() or not holds.any():
        raise ValueError("holds must have both kinds, got one")
    passed = p >= threshold
    return Quality(
        n=len(p),
        base_rate=float(holds.mean()),
        brier=float(np.mean((p - holds) ** 2)),
        ece=float(sum(n * abs(a - b) for a, b, n in reliability(p, holds, bins)) / len(p)),
        auroc=_auroc(p, holds),
        threshold=threshold,
        false_release=float(passed[~holds].mean()),
        false_escalation=float((~passed)[holds].mean()),
        passed=float(passed.mean()),
    )


def reliability(p: np.ndarray, holds: np.ndarray, bins: int) -> list[tuple[float, float, int]]:
    """Sort into bins of equal count; return mean probability, share that holds, count of each."""
    order = np.argsort(p, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return [(float(p[i].mean()), float(holds[i].mean()), len(i)) for i in parts]


def risk_coverage(p: np.ndarray, holds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Release the surest first; return the share released and the share of it that is wrong.

    Returns:
        Coverage and risk, fp64 `[n]` each, for every number of releases.
    """
    wrong = ~holds[np.argsort(-p, kind="stable")]
    released = np.arange(1, len(p) + 1)
    return released / len(p), np.cumsum(wrong) / released


def _auroc(p: np.ndarray, holds: np.ndarray) -> float:
    right, wrong = p[holds][:, None], p[~holds][None]
    return float(((right > wrong) + 0.5 * (right == wrong)).mean())
