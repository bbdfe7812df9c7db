"""Means, intervals, and the rows of a certificate."""

import numpy as np
import pytest

from agentprim.engine.way import Way
from agentprim.trust.stats import interval, summarise
from agentprim.trust.ways import NONE, RELOCATE


def test_an_interval_covers_the_true_mean_about_as_often_as_it_says():
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        found = interval(random.exponential(1.0, size=40))
        covered += found.low <= 1.0 <= found.high
    assert 0.88 <= covered / 200 <= 0.98


def test_an_interval_of_equal_values_is_that_value():
    found = interval([0.1] * 7)
    assert (found.low, found.mean, found.high, found.n) == pytest.approx((0.1, 0.1, 0.1, 7))
    assert found.low <= found.mean <= found.high


def test_nothing_has_no_interval():
    with pytest.raises(ValueError, match="at least one number"):
        interval([])


def _row(way, kl, **more):
    names = {name: 1 for name in ("kl_text", "top1", "top1_text", "answer", "answer_text")}
    way = {"join": way.join, "carry": way.carry, "rotate": way.rotate}
    return {"way": way, "length": 20, "kl": kl, **names, "prefilled": 5, "recomputed": 2, **more}


def test_rows_are_put_together_by_size_and_way():
    records = [
        {"senders": 1, "rows": [_row(RELOCATE, 1.0, seconds=3.0), _row(NONE, None)]},
        {"senders": 1, "rows": [_row(RELOCATE, 3.0, seconds=1.0), _row(NONE, None)]},
        {"senders": 2, "rows": [_row(RELOCATE, 7.0)]},
    ]
    relocate, none, two = summarise(records)
    assert (relocate.way, relocate.senders, relocate.kl.mean, relocate.kl.n) == (RELOCATE, 1, 2, 2)
    assert relocate.seconds == 2.0 and two.seconds is None
    assert none.kl is None and none.way == Way(join="none")
    assert (two.senders, two.kl.mean, two.recomputed) == (2, 7.0, 2)


def test_a_number_that_is_not_finite_is_no_measurement():
    records = [{"senders": 1, "rows": [_row(RELOCATE, float("nan"))]}]
    with pytest.raises(ValueError, match="kl must be finite"):
        summarise(records)
