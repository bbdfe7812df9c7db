"""Calibration: temperatures and thresholds fitted on labelled decisions, and kept as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

DEFAULT_THRESHOLD = 0.5


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """One judged state of which the truth is known.

    Attributes:
        question: The criterion as it was asked.
        log_odds: Log-probability of yes minus that of no, before calibration, in nats.
        holds: Whether the criterion does hold.
    """

    question: str
    log_odds: float
    holds: bool


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What was fitted, per question.

    Attributes:
        temperatures: By question text; a decision's log-probabilities are divided by it.
        thresholds: By question text; a judgement passes from this probability on.
        target: False-release rate that thresholds were chosen for.
        counts: Labelled examples, by question text.
    """

    temperatures: Mapping[str, float] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    target: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    def temperature(self, question: str) -> float:
        """Return the temperature of a question; 1 where none was fitted."""
        return self.temperatures.get(question, 1.0)

    def threshold(self, question: str) -> float:
        """Return the threshold of a question; 0.5 where none was fitted."""
        return self.thresholds.get(question, DEFAULT_THRESHOLD)

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1, sort_keys=True) + "\n")

    @classmethod
    def load(cls, path: Path) -> "Calibration":
        """Read what `save` wrote.

        Raises:
            ValueError: The file holds something else.
        """
        try:
            found = cls(**json.loads(path.read_text()))
        except (TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"calibration must be a file of a Calibration, got {path}") from error
        if any(not t > 0 for t in found.temperatures.values()):
            raise ValueError(f"temperatures must be positive, got others in {path}")
        return found


def fit(labelled: Sequence[Labelled], *, target: float = 0.05) -> Calibration:
    """Fit a temperature and a threshold for each question.

    The temperature minimises the mean negative log-likelihood of the labels. The threshold is the
    lowest one at which at most the share `target` of the states that do not meet the criterion
    would pass, on these data; where even the surest of them stays below, everything above it.

    Args:
        labelled: Judged states with their truth, of one or more questions.
        target: False-release rate that is accepted, in 0..1.

    Raises:
        ValueError: A number is out of range, or a question lacks examples of both kinds.
    """
    if not 0 <= target <= 1:
        raise ValueError(f"target must be between 0 and 1, got {target}")
    temperatures, thresholds, counts = {}, {}, {}
    for question in dict.fromkeys(one.question for one in labelled):
        odds, holds = arrays([one for one in labelled if one.question == question])
        if holds.all() or not holds.any():
            raise ValueError(
                f"labelled must have both kinds for each question, got one for {question!r}"
            )
        temperatures[question] = temperature = fit_temperature(odds, holds)
        thresholds[question] = fit_threshold(sigmoid(odds / temperature), holds, target)
        counts[question] = len(odds)
    if not counts:
        raise ValueError("labelled must have at least two entries, got none")
    return Calibration(
        temperatures=temperatures, thresholds=thresholds, target=target, counts=counts
    )


def arrays(labelled: Sequence[Labelled]) -> tuple[np.ndarray, np.ndarray]:
    """Return log-odds fp64 `[n]` and truth bool `[n]`.

    Raises:
        ValueError: A log-odds is NaN.
    """
    odds = np.array([one.log_odds for one in labelled], dtype=np.float64)
    if np.isnan(odds).any():
        raise ValueError("log_odds must be numbers, got NaN")
    return odds, np.array([one.holds for one in labelled], dtype=bool)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Map log-odds to probabilities, without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * x))


def fit_temperature(odds: np.ndarray, holds: np.ndarray) -> float:
    """Minimise the negative log-likelihood over T in 0.02..50, a convex function of 1 / T."""
    sign = np.where(holds, -1.0, 1.0)

    def loss(log_t: float) -> float:
        return float(np.logaddexp(0, sign * odds / math.exp(log_t)).mean())

    low, high = math.log(0.02), math.log(50.0)
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):  # golden section
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if loss(a) <= loss(b):
            high = b
        else:
            low = a
    return math.exp((low + high) / 2)


def fit_threshold(p: np.ndarray, holds: np.ndarray, target: float) -> float:
    """Return the lowest threshold whose false-release rate is at most `target`."""
    wrong = np.sort(p[~holds])[::-1]
    allowed = int(math.floor(target * len(wrong) + 1e-9))
    if allowed >= len(wrong):
        return 0.0
    return float(np.nextafter(wrong[allowed], 2.0))
