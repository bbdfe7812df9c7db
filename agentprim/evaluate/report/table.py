"""Tables as text, and how numbers are written in them."""

from dataclasses import dataclass

from agentprim.engine.certificate import Interval
from agentprim.evaluate.report.stats import Paired


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a report.

    Attributes:
        name: Which of the papers' tables it is, such as `"1.7"`; empty for our own.
        title: What it shows.
        columns: Heads.
        rows: Cells of text.
        note: What a reader must know; why it is empty, where it is.
    """

    name: str
    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""

    @property
    def head(self) -> str:
        """Name and title."""
        return f"Table {self.name}: {self.title}" if self.name else self.title


def percent(value: Interval | None) -> str:
    """Write a share with its interval."""
    if value is None:
        return ""
    return f"{100 * value.mean:.1f} ({100 * value.low:.1f}-{100 * value.high:.1f})"


def points(value: Paired | None) -> str:
    """Write a paired difference in points with its interval, and the p of the test."""
    if value is None:
        return ""
    d = value.difference
    return (
        f"{100 * d.mean:+.1f} ({100 * d.low:+.1f} to {100 * d.high:+.1f}), "
        f"{value.gained} gained, {value.lost} lost, p {value.p:.3f}"
    )


def count(value: float | None) -> str:
    """Write a mean count."""
    return "" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """Write a mean time."""
    return "" if value is None else f"{value:.2f}"


def ratio(value: float | None, base: float | None) -> str:
    """Write how many times as much it is as something else."""
    if value is None or base is None:
        return ""
    return "0 against 0" if not value and not base else f"{value / base:.2f}x" if base else "more"
