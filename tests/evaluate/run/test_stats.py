"""Statistics against values worked out by hand."""

import pytest

from agentprim.evaluate.report.stats import mcnemar, paired, wilson


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [
        # by hand with z = 1.96, z^2 = 3.8415: (0.5 +- 0.3369...) and so on
        (5, 10, 0.2366, 0.7634),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_gives_the_known_intervals(right, n, low, high):
    found = wilson(right, n)
    assert found.mean == right / n and found.n == n
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(("right", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_wilson_refuses_what_is_no_share(right, n):
    with pytest.raises(ValueError, match="right must be"):
        wilson(right, n)


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),  # 2 * 1/2
        (5, 0, 2 / 32),
        (8, 1, 2 * (1 + 9) / 512),
        (1, 8, 2 * (1 + 9) / 512),
        (3, 3, 1.0),
        (12, 4, 2 * (1 + 16 + 120 + 560 + 1820) / 65536),
    ],
)
def test_mcnemar_counts_the_tail_of_a_fair_coin(gained, lost, p):
    assert mcnemar(gained, lost) == pytest.approx(p, abs=1e-12)


def test_a_paired_difference_is_taken_item_by_item():
    these = [True, True, False, False, True, True]
    others = [True, False, True, False, False, False]
    found = paired(these, others)
    assert (found.gained, found.lost) == (3, 1) and found.p == pytest.approx(0.625)
    assert found.difference.mean == pytest.approx(2 / 6)
    assert -0.5 < found.difference.low < 2 / 6 < found.difference.high <= 1
    same = paired(these, these)
    assert (same.difference.low, same.difference.high, same.p) == (0, 0, 1)
    with pytest.raises(ValueError, match="zip"):
        paired(these, others[1:])
