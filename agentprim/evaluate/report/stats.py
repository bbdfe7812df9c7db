"""Statistics of right and wrong answers.

Wilson's interval and the exact McNemar test are a few lines of `math`; scipy, which has both, is
larger than all that is needed of it and would be a dependency of everybody who installs this.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.engine.certificate import Interval
from agentprim.trust.stats import interval

_Z = 1.959963984540054  # of 95 %


def wilson(right: int, n: int) -> Interval:
    """Return a share with Wilson's 95 % score interval.

    Unlike the textbook's interval it stays within 0 and 1, and does not shrink to a point where all
    answers are right, or none is.

    Raises:
        ValueError: There is no answer, or more are right than there are.
    """
    if n < 1 or not 0 <= right <= n:
        raise ValueError(f"right must be within 0 and n of at least 1, got {right} of {n}")
    share, z2 = right / n, _Z * _Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    # rounding may put an end at -1e-17, or beyond the mean
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Interval(mean=share, low=min(low, share), high=max(high, share), n=n)


def mcnemar(gained: int, lost: int) -> float:
    """Return the two-sided p of the exact McNemar test.

    Of items that only one of two methods answers rightly, each is as likely to answer one as the
    other where they are equally good: `gained` is binomial with `gained + lost` trials of 1/2.
    """
    n, least = gained + lost, min(gained, lost)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(least + 1)) / 2**n)


@dataclass(frozen=True, kw_only=True)
class Paired:
    """A method against another on the same items.

    Attributes:
        difference: Of the shares of right answers, with a bootstrap interval over items.
        gained, lost: Items that only this method, or only the other, answers rightly.
        p: Of the exact McNemar test.
    """

    difference: Interval
    gained: int
    lost: int
    p: float


def paired(these: Sequence[bool], others: Sequence[bool]) -> Paired:
    """Compare two methods, item by item.

    Raises:
        ValueError: There are no items, or not as many of each.
    """
    pairs = list(zip(these, others, strict=True))
    gained = sum(a and not b for a, b in pairs)
    lost = sum(b and not a for a, b in pairs)
    return Paired(
        difference=interval([float(a) - float(b) for a, b in pairs]), gained=gained, lost=lost,
        p=mcnemar(gained, lost),
    )  # fmt: skip
