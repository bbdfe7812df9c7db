"""A decision: a distribution over given options, and what it cost."""

import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The answer to one question.

    Attributes:
        kind: `"choose"`, `"score"` or `"judge"`.
        probabilities: Probability of each option, in the caller's order; they sum to 1.
        choice: The most probable option; of equals the first in canonical (sorted) order.
        value: Probability-weighted value of the options (`score`), probability of yes (`judge`),
            None for `choose`.
        confidence: 1 - H(p) / ln n: 0 where all options are equally likely, 1 where one is certain.
        log_probs: What the backend said of each option before calibration, in nats up to a common
            constant.
        tokens: Tokens that were computed for it.
        seconds: Wall time; questions asked together share it evenly.
    """

    kind: str
    probabilities: dict[str, float]
    choice: str
    value: float | None
    confidence: float
    log_probs: dict[str, float]
    tokens: int
    seconds: float

    def to_dict(self) -> dict:
        """Return everything as plain data."""
        return asdict(self)


def decide(
    kind: str,
    log_probs: dict[str, float],
    values: tuple[float, ...] | None,
    *,
    temperature: float = 1.0,
    tokens: int = 0,
    seconds: float = 0.0,
) -> Decision:
    """Normalise log-probabilities over the options.

        p_i = exp(l_i / T) / sum_j exp(l_j / T)

    Args:
        kind: Of the question.
        log_probs: One for each option, in the caller's order.
        values: What each option is worth, or None.
        temperature: Above 1 makes a decision less sure.
        tokens, seconds: What it cost.

    Raises:
        ValueError: A log-probability is NaN, or all are -inf.
    """
    top = max(log_probs.values())
    if any(math.isnan(one) for one in log_probs.values()) or not math.isfinite(top):
        raise ValueError(f"log_probs must be numbers, one of them finite, got {log_probs}")
    weights = {name: math.exp((one - top) / temperature) for name, one in log_probs.items()}
    total = math.fsum(weights.values())
    probabilities = {name: weight / total for name, weight in weights.items()}
    entropy = -math.fsum(p * math.log(p) for p in probabilities.values() if p > 0)
    value = None
    if values is not None:
        value = math.fsum(p * v for p, v in zip(probabilities.values(), values, strict=True))
    return Decision(
        kind=kind,
        probabilities=probabilities,
        choice=min(probabilities, key=lambda name: (-probabilities[name], name)),
        value=value,
        confidence=max(0.0, 1 - entropy / math.log(len(probabilities))),
        log_probs=dict(log_probs),
        tokens=tokens,
        seconds=seconds,
    )
