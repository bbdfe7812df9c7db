"""Calibration finds what generated the labels, keeps its promise, and survives a file."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentprim.decide import Calibration, Decider, Labelled, fit
from agentprim.decide.backend import Scores
from agentprim.decide.calibration import arrays, fit_threshold, sigmoid
from agentprim.decide.quality import quality, reliability, risk_coverage


def labelled(n: int, temperature: float, seed: int = 0, question: str = "q") -> list[Labelled]:
    """Draw labels from odds that are `temperature` times too sure."""
    source = np.random.default_rng(seed)
    odds = source.normal(0, 2, n)
    holds = source.random(n) < sigmoid(odds)
    return [
        Labelled(question=question, log_odds=float(o * temperature), holds=bool(h))
        for o, h in zip(odds, holds, strict=True)
    ]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_the_temperature_that_made_the_labels_is_found(temperature):
    found = fit(labelled(20_000, temperature)).temperature("q")
    assert found == pytest.approx(temperature, rel=0.05)


def test_calibration_lowers_the_calibration_error():
    fitted, held = labelled(2000, 4.0), labelled(2000, 4.0, seed=1)
    calibration = fit(fitted)
    odds, holds = arrays(held)
    raw = quality(sigmoid(odds), holds, 0.5)
    better = quality(sigmoid(odds / calibration.temperature("q")), holds, 0.5)
    assert better.ece < raw.ece / 3 and better.brier < raw.brier
    assert better.auroc == raw.auroc


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=60).filter(
        lambda rows: len({holds for _, holds in rows}) == 2
    ),
    st.floats(0, 1),
)
def test_a_threshold_keeps_to_its_target_and_gives_nothing_away(rows, target):
    p = np.array([a for a, _ in rows])
    holds = np.array([b for _, b in rows])
    threshold = fit_threshold(p, holds, target)
    assert quality(p, holds, threshold).false_release <= target + 1e-9
    lower = p[p < threshold]
    if len(lower):  # the next lower one would let too many through
        assert quality(p, holds, lower.max()).false_release > target - 1e-9


def test_each_question_has_its_own_fit():
    calibration = fit(labelled(500, 1.0, question="a") + labelled(500, 3.0, question="b"))
    assert calibration.temperature("b") > 2 * calibration.temperature("a")
    assert calibration.counts == {"a": 500, "b": 500}
    assert calibration.temperature("other") == 1.0 and calibration.threshold("other") == 0.5


def test_a_decider_uses_what_was_fitted_and_a_file_keeps_it(tmp_path):
    calibration = Calibration(temperatures={"q": 2.0}, thresholds={"q": 0.8})
    calibration.save(tmp_path / "c.json")
    decider = Decider(_certain, calibration=Calibration.load(tmp_path / "c.json"))
    decision = decider.judge("q", "state")
    assert decision.value == pytest.approx(1 / (1 + math.exp(-1)))  # odds 2, halved
    assert not decider.passes(decision, "q") and decider.passes(decision, "another")
    (tmp_path / "c.json").write_text('{"heat": 1}')
    with pytest.raises(ValueError, match="file of a Calibration"):
        Calibration.load(tmp_path / "c.json")


def _certain(state, questions):
    return [Scores(log_probs=(2.0, 0.0), tokens=1) for _ in questions]


def test_quality_of_known_judgements():
    p = np.array([0.9, 0.8, 0.7, 0.2])
    holds = np.array([True, False, True, False])
    found = quality(p, holds, 0.75, bins=4)
    assert found.false_release == 0.5 and found.false_escalation == 0.5 and found.passed == 0.5
    assert found.brier == pytest.approx((0.01 + 0.64 + 0.09 + 0.04) / 4)
    assert found.ece == pytest.approx((0.1 + 0.8 + 0.3 + 0.2) / 4)
    assert found.auroc == 0.75
    coverage, risk = risk_coverage(p, holds)
    assert coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert risk.tolist() == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    assert sum(n for _, _, n in reliability(p, holds, 3)) == 4


@pytest.mark.parametrize(
    ("rows", "target", "message"),
    [
        ([], 0.1, "at least two"),
        (labelled(5, 1.0), 2.0, "between 0 and 1"),
        ([Labelled(question="q", log_odds=1.0, holds=True)] * 3, 0.1, "both kinds"),
        (
            [
                Labelled(question="q", log_odds=math.nan, holds=True),
                Labelled(question="q", log_odds=1.0, holds=False),
            ],
            0.1,
            "NaN",
        ),
    ],
)
def test_labels_that_say_nothing_are_refused(rows, target, message):
    with pytest.raises(ValueError, match=message):
        fit(rows, target=target)
