"""Cells: what a method got on a task, read from the journals of runs."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean

from agentprim.engine.certificate import Interval
from agentprim.evaluate.report.stats import Paired, paired, wilson
from agentprim.trust.journal import read

KINDS = ("prefilled", "decoded", "latent", "reused", "relocated", "recomputed", "decision_tokens")
COMPUTED = ("prefilled", "decoded", "latent", "recomputed", "decision_tokens")


@dataclass(frozen=True, eq=False)
class Cell:
    """One task, one method.

    Attributes:
        header: What was run.
        rows: By item.
        missing: Why its run could not load other tasks, by name.
        run: Of which run it is.
    """

    header: dict
    rows: dict[str, dict]
    missing: dict[str, str] = field(default_factory=dict)
    run: str = ""

    @property
    def task(self) -> str:
        """Name of the task."""
        return self.header["task"]["name"]

    @property
    def method(self) -> str:
        """Name of the method."""
        return self.header["method"]["name"]

    @property
    def items(self) -> str:
        """Digest of the items of the task; cells of other items are not comparable."""
        return self.header["task"]["items"]

    @property
    def inner(self) -> str:
        """What inner agents did, where the method has any."""
        return self.header["limits"]["inner"]

    @cached_property
    def right(self) -> dict[str, bool]:
        """Whether each item was answered rightly; one that failed was not."""
        return {key: bool(row.get("correct", False)) for key, row in self.rows.items()}

    @property
    def n(self) -> int:
        """Items done."""
        return len(self.rows)

    @property
    def failed(self) -> list[str]:
        """Why items failed."""
        return [row["failed"] for row in self.rows.values() if "failed" in row]

    @property
    def open(self) -> int:
        """Items not done yet."""
        return self.header["task"]["n"] - self.n

    def accuracy(self, group: str | None = None) -> Interval | None:
        """Return the share of right answers, of one group of items or of all."""
        kept = [
            right for key, right in self.right.items()
            if group is None or self.rows[key]["group"] == group
        ]  # fmt: skip
        return wilson(sum(kept), len(kept)) if kept else None

    def mean(self, name: str) -> float | None:
        """Return the mean count of a kind of tokens or calls over the items that were answered."""
        rows = [row["usage"]["total"] for row in self.rows.values() if "usage" in row]
        return fmean(row.get(name, 0) for row in rows) if rows else None

    @property
    def tokens(self) -> float | None:
        """Mean tokens that the model computed for an item, of all kinds."""
        if self.mean("decoded") is None:
            return None
        return sum(self.mean(name) for name in COMPUTED)

    @property
    def seconds(self) -> float | None:
        """Mean wall time of an item; a batch shares its time evenly."""
        found = [row["seconds"] for row in self.rows.values() if "seconds" in row]
        return fmean(found) if found else None

    @property
    def pool(self) -> int:
        """Most tokens that caches held at once."""
        return max((row.get("pool_tokens", 0) for row in self.rows.values()), default=0)

    def score(self, name: str, group: str | None = None) -> float | None:
        """Return the mean of a further figure of the grader."""
        found = [
            row["scores"][name] for row in self.rows.values()
            if name in row.get("scores", {}) and (group is None or row["group"] == group)
        ]  # fmt: skip
        return fmean(found) if found else None

    @property
    def groups(self) -> list[str]:
        """Groups of its items, numbers in order."""
        return sorted({row["group"] for row in self.rows.values()}, key=_order)

    def against(self, other: "Cell") -> Paired | None:
        """Compare with another cell on the items that both have; None where these are others."""
        both = [key for key in self.right if key in other.right]
        if not both or self.items != other.items:
            return None
        return paired([self.right[k] for k in both], [other.right[k] for k in both])


def _order(group: str) -> tuple:
    places = ("none", "begin", "middle", "end")
    if group in places:
        return 0, places.index(group), group
    try:
        return 0, float(group), group
    except ValueError:
        return 1, 0, group


def read_cells(folders: Iterable[Path]) -> list[Cell]:
    """Read the journals of runs.

    Raises:
        ValueError: A folder is not there or holds no journal.
    """
    cells = []
    for folder in folders:
        reasons = folder / "missing.json"
        missing = json.loads(reasons.read_text()) if reasons.exists() else {}
        paths = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
        found = [Cell(*read(path), missing, str(folder)) for path in paths]
        found = [cell for cell in found if {"task", "method", "limits"} <= set(cell.header)]
        if not found:
            raise ValueError(f"runs must be folders with journals of runs, got {folder}")
        cells += found
    return cells
