"""Blocks: cells that may stand side by side, and how their methods belong together."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.evaluate.methods import methods
from agentprim.evaluate.report.cells import Cell
from agentprim.evaluate.report.stats import Paired
from agentprim.evaluate.tasks import tasks

BASE = "single"
TWINS = {"latent_mas": "text_mas"}  # whose twin is not called like it
# methods whose inner agents do what `inner` says; of others one run is as good as another
INNERS = ("latent_mas", "review", "voting", "planning", "primitives")


@dataclass(eq=False)
class Block:
    """Cells of one model under the same limits, seed, samples and batch, on one device.

    Only what inner agents do may differ; where it does, rows name it.

    Attributes:
        about: What the cells share.
        cells: The cells, one for each row and task: of several runs that with most items.
        others: Further ones of other runs; their own runs' cells are compared with them.
        missing: Why tasks could not be loaded.
    """

    about: dict
    cells: list[Cell] = field(default_factory=list)
    others: list[Cell] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The model and what was asked of it."""
        limits = self.about["limits"]
        sample = "all items" if self.about["limit"] is None else f"{self.about['limit']} items"
        heat = limits["temperature"]
        how = f"temperature {heat}, top_p {limits['top_p']}" if heat else "greedy"
        model = self.about["model"]
        second = f", experts B: {model['expert']['name']}" if "expert" in model else ""
        return (
            f"{model['name']} ({model['dtype']}, {model['device']}){second}: {sample} a task, seed "
            f"{self.about['seed']}, at most {limits['max_new_tokens']} tokens an answer, "
            f"{limits['steps']} latent steps, inner {' and '.join(self.inners)}, {how}, "
            f"batch {self.about['batch']}"
        )

    @property
    def inners(self) -> list[str]:
        """What inner agents did."""
        return sorted({cell.inner for cell in self.cells})

    @property
    def tasks(self) -> list[str]:
        """Tasks in the order of its cells, those without data last."""
        return list(dict.fromkeys([cell.task for cell in self.cells] + sorted(self.missing)))

    @property
    def rows(self) -> list[tuple[str, str | None]]:
        """Methods, each with its inner where that makes a difference."""
        return list(dict.fromkeys((cell.method, self.shown(cell)) for cell in self.cells))

    def shown(self, cell: Cell) -> str | None:
        """Return the inner of a cell, if rows must name it."""
        base = cell.method.removesuffix("_unrotated")
        depends = base.startswith(INNERS) and "_text" not in base
        return cell.inner if depends and len(self.inners) > 1 else None

    def listed(self, methods: Sequence[str]) -> list[tuple[str, str | None]]:
        """Return methods as in `rows`, in this order; those that were not run stand there, too."""
        rows = self.rows
        return [
            row for method in methods
            for row in [one for one in rows if one[0] == method] or [(method, None)]
        ]  # fmt: skip

    def find(self, task: str, method: str, inner: str | None = None) -> Cell | None:
        """Return a cell; without `inner`, the one with most items."""
        found = [
            cell for cell in self.cells
            if (cell.task, cell.method) == (task, method) and inner in (None, cell.inner)
        ]  # fmt: skip
        return max(found, key=lambda cell: cell.n, default=None)

    def beside(self, cell: Cell, method: str) -> Cell | None:
        """Return the cell of another method on the same task, from the same run if it is there."""
        same = [
            one for one in (*self.cells, *self.others)
            if (one.task, one.method, one.run) == (cell.task, method, cell.run) and one.n
        ]  # fmt: skip
        return (same or [self.find(cell.task, method, cell.inner)])[0] or self.find(
            cell.task, method
        )

    def settle(self) -> None:
        """Keep one cell for each row and task. Modifies the block."""
        kept: dict[tuple, Cell] = {}
        for cell in self.cells:
            key = (cell.task, cell.method, self.shown(cell))
            if key not in kept or cell.n > kept[key].n:
                kept[key] = cell
        self.others = [cell for cell in self.cells if cell not in kept.values()]
        self.cells = list(kept.values())

    def twin(self, cell: Cell) -> Cell | None:
        """Return the text twin of a cell."""
        name = cell.header["method"].get("twin") or TWINS.get(cell.method)
        return self.beside(cell, name or f"{cell.method}_text")

    def against(self, cell: Cell, method: str = BASE) -> Paired | None:
        """Compare a cell with a method on the same task."""
        other = self.beside(cell, method)
        return None if other is None or other is cell else cell.against(other)

    def why_not(self, task: str, method: str, cell: Cell | None) -> str:
        """Say why a cell is missing, or what is wrong with one that is there."""
        if cell is None:
            return f"no data: {self.missing[task]}" if task in self.missing else "not run"
        if not cell.n:
            return "begun, no item done"
        if len(cell.failed) == cell.n:
            return f"all failed: {cell.failed[0]}"
        return ""


def blocks(cells: list[Cell]) -> list[Block]:
    """Sort cells into blocks: blocks as they are met, cells as tasks and methods are listed."""
    listed = [*tasks(), *methods()]
    rank = {name: number for number, name in enumerate(listed)}

    def order(cell: Cell) -> tuple[int, ...]:
        return tuple(rank.get(name, len(rank)) for name in (cell.task, cell.method))

    found: dict[str, Block] = {}
    for cell in cells:
        h = cell.header
        about = {name: h[name] for name in ("model", "limit", "seed", "batch", "versions")}
        about["limits"] = {k: v for k, v in h["limits"].items() if k != "inner"}
        key = json.dumps(about, sort_keys=True)
        block = found.setdefault(key, Block(about=about))
        block.cells.append(cell)
    for block in found.values():
        block.cells.sort(key=order)
        block.settle()
        have = {cell.task for cell in block.cells}
        for cell in block.cells:
            block.missing |= {name: why for name, why in cell.missing.items() if name not in have}
    return list(found.values())
