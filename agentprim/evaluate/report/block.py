"""Blocks: cells that may stand side by side, and how their methods belong together."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.evaluate.methods import methods
from agentprim.evaluate.report.cells import Cell
from agentprim.evaluate.report.stats import Paired
from agentprim.evaluate.tasks import tasks

BASE = "single"
TWINS = {"latent_mas": "text_mas"}  # whose twin is not called like it
# methods whose inner agents do what `inner` says; of others one run is as good as another
INNERS = ("review", "voting", "planning", "primitives")


@dataclass(eq=False)
class Block:
    """Cells of one model under the same limits, seed, samples and batch, on one device.

    Items of a task are the same. Only what inner agents do may differ; where it does, rows name it.

    Attributes:
        about: What the cells share.
        cells: The cells, one for each row and task: of several runs that with most items.
        others: Further ones of other runs; their own runs' cells are compared with them.
        missing: Why tasks could not be loaded.
        apart: Tasks with other items than in a block before it, which is else the same.
    """

    about: dict
    cells: list[Cell] = field(default_factory=list)
    others: list[Cell] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    apart: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The model and what was asked of it."""
        limits = self.about["limits"]
        sample = "all items" if self.about["limit"] is None else f"{self.about['limit']} items"
        heat = limits["temperature"]
        how = f"temperature {heat}, top_p {limits['top_p']}" if heat else "greedy"
        model = self.about["model"]
        second = f", experts B: {model['expert']['name']}" if "expert" in model else ""
        apart = f", other items of {' and '.join(self.apart)} than above" if self.apart else ""
        return (
            f"{model['name']} ({model['dtype']}, {model['device']}){second}: {sample} a task, seed "
            f"{self.about['seed']}, at most {limits['max_new_tokens']} tokens an answer, "
            f"{limits['steps']} latent steps, inner {' and '.join(self.inners)}, {how}, "
            f"batch {self.about['batch']}{apart}"
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
        return shown(cell, self.inners)

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
        """Return the cell of another method on the same items, from the same run if it is there."""
        own = [one for one in self.others if one.run == cell.run]
        fit = [
            one for one in (*self.cells, *own)
            if (one.task, one.method, one.items) == (cell.task, method, cell.items)
        ]  # fmt: skip

        def near(one: Cell) -> tuple:
            return one.n > 0 and one.run == cell.run, one.inner == cell.inner, one.n

        return max(fit, key=near, default=None)

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


def shown(cell: Cell, inners: Sequence[str]) -> str | None:
    """Return the inner of a cell, if rows must name it where inner agents did all of these."""
    base = cell.method.removesuffix("_unrotated")
    depends = base.startswith(INNERS) and "_text" not in base
    return cell.inner if depends and len(inners) > 1 else None


def blocks(cells: list[Cell]) -> list[Block]:
    """Sort cells into blocks: blocks as they are met, cells as tasks and methods are listed.

    Where runs have other items of a task, they are in blocks of their own with all their tasks.
    """
    listed = [*tasks(), *methods()]
    rank = {name: number for number, name in enumerate(listed)}

    def order(cell: Cell) -> tuple[int, ...]:
        return tuple(rank.get(name, len(rank)) for name in (cell.task, cell.method))

    items: dict[str, set[str]] = {}
    for cell in cells:
        items.setdefault(cell.task, set()).add(cell.items)
    found: list[Block] = []
    # tasks that set runs apart go first; what else a run did then follows them
    for cell in sorted(cells, key=lambda one: len(items[one.task]) == 1):
        _place(cell, found)
    for number, block in enumerate(found):
        alike = [one for other in found[:number] if other.about == block.about
                 for one in other.cells]  # fmt: skip
        block.cells.sort(key=order)
        own = {cell.task: cell.items for cell in block.cells}
        block.apart = [task for task in own if any(
            one.items != own[task] for one in alike if one.task == task)]  # fmt: skip
        block.settle()
        have = {cell.task for cell in block.cells}
        for cell in block.cells:
            block.missing |= {name: why for name, why in cell.missing.items() if name not in have}
    return found


def _place(cell: Cell, found: list[Block]) -> None:
    """Add a cell to a block that it fits, if there is one to that of its run. Modifies `found`."""
    h = cell.header
    about = {name: h[name] for name in ("model", "limit", "seed", "batch", "versions")}
    about["limits"] = {k: v for k, v in h["limits"].items() if k != "inner"}
    fit = [
        block for block in found
        if block.about == about
        and all(one.items == cell.items for one in block.cells if one.task == cell.task)
    ]  # fmt: skip
    fit.sort(key=lambda block: all(one.run != cell.run for one in block.cells))
    if not fit:
        fit = [Block(about=about)]
        found += fit
    fit[0].cells.append(cell)
