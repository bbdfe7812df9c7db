"""Plots of a block; they need matplotlib (`agentprim[bench]`)."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

from agentprim.evaluate.methods.registry import BUDGET
from agentprim.evaluate.report.block import Block
from agentprim.evaluate.report.cells import Cell
from agentprim.evaluate.report.first import label, plain

KINDS = {"prefilled": "#9db4d6", "decoded": "#ff725c", "latent": "#efb118",
         "recomputed": "#6b4fbb", "decision_tokens": "#3ca951"}  # fmt: skip
_READER = re.compile(r"reader_(kv|text)-(\d+)")


def draw(block: Block, folder: Path, prefix: str) -> list[tuple[str, str]]:
    """Draw what the block holds.

    Returns:
        Title and file name of each figure; none where matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return []
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found: list[tuple[str, str]] = []
    rc = {"font.size": 9, "svg.hashsalt": "agentprim", "svg.fonttype": "none",
          "axes.spines.top": False, "axes.spines.right": False}  # fmt: skip

    def figure(name: str, title: str, paint: Callable) -> None:
        shape, axis = pyplot.subplots(figsize=(7, 4))
        if paint(axis):
            shape.savefig(folder / f"{prefix}{name}.svg", metadata={"Date": None},
                          bbox_inches="tight")  # fmt: skip
            found.append((title, f"{prefix}{name}.svg"))
        pyplot.close(shape)

    with pyplot.rc_context(rc):
        for task in plain(block):
            cells = [cell for cell in block.cells if cell.task == task and cell.tokens]
            figure(f"{task}-tokens", f"{task}: accuracy against tokens", _scatter(block, cells))
            figure(f"{task}-cost", f"{task}: cost by kind of token", _bars(block, cells))
        for task, what in (("noise", "noise sentences"), ("injection", "place of the injection")):
            cells = [cell for cell in block.cells if cell.task == task and cell.n]
            figure(task, f"{task}: accuracy by {what}", _curves(block, cells, what, None))
            figure(f"{task}-complied", f"{task}: instructions followed",
                   _curves(block, cells, what, "complied"))  # fmt: skip
        for task in block.tasks:
            cells = [cell for cell in block.cells if cell.task == task and cell.n]
            figure(f"{task}-receiver", f"{task}: caches against text by receiver length",
                   _numbered(cells, _READER, "receiver's system prompt, tokens"))  # fmt: skip
            figure(f"{task}-calls", f"{task}: accuracy by the budget of calls",
                   _numbered(cells, BUDGET, "calls that a task may take"))  # fmt: skip
    return found


def _scatter(block: Block, cells: list[Cell]) -> Callable:
    from matplotlib.ticker import LogLocator

    # a number behind a name is a size: those have curves of their own
    cells = [cell for cell in cells if not re.search(r"-\d+$", cell.method)]

    def paint(axis) -> bool:
        axis.figure.set_size_inches(9, 4.5)
        for number, cell in enumerate(cells, 1):
            share, name = cell.accuracy(), label(cell.method, block.shown(cell))
            bars = [[100 * (share.mean - share.low)], [100 * (share.high - share.mean)]]
            axis.errorbar([cell.tokens], [100 * share.mean], yerr=bars, marker="o", capsize=0,
                          elinewidth=0.5, label=f"{number}  {name}")  # fmt: skip
            axis.annotate(str(number), (cell.tokens, 100 * share.mean), xytext=(4, 3),
                          textcoords="offset points", fontsize=7)  # fmt: skip
        axis.set(xlabel="tokens computed, an item", ylabel="accuracy, %", xscale="log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.xaxis.set_minor_formatter("")
        if cells:
            handles, names = axis.get_legend_handles_labels()
            axis.legend([one[0] for one in handles], names, frameon=False, fontsize=7,
                        bbox_to_anchor=(0.5, -0.13), loc="upper center", ncols=4)  # fmt: skip
        return bool(cells)

    return paint


def _bars(block: Block, cells: list[Cell]) -> Callable:
    def paint(axis) -> bool:
        names, left = [label(cell.method, block.shown(cell)) for cell in cells], [0.0] * len(cells)
        for kind, colour in KINDS.items():
            width = [cell.mean(kind) or 0.0 for cell in cells]
            axis.barh(range(len(cells)), width, left=left, color=colour,
                      label=kind.replace("_", " "))  # fmt: skip
            left = [a + b for a, b in zip(left, width, strict=True)]
        axis.figure.set_figheight(max(4, 0.2 * len(cells)))
        axis.set_yticks(range(len(cells)), names, fontsize=7)
        axis.invert_yaxis()
        axis.margins(y=0.01)
        axis.set_xlabel("tokens, an item")
        axis.legend(frameon=False, fontsize=7)
        return bool(cells)

    return paint


def _curves(block: Block, cells: list[Cell], what: str, score: str | None) -> Callable:
    def paint(axis) -> bool:
        drawn = False
        for cell in cells:
            groups = cell.groups
            if score is None:
                shares = [cell.accuracy(group) for group in groups]
                y = [100 * share.mean for share in shares]
                bars = [[100 * (s.mean - s.low) for s in shares],
                        [100 * (s.high - s.mean) for s in shares]]  # fmt: skip
            else:
                values = [cell.score(score, group) for group in groups]
                if None in values:
                    continue
                y, bars = [100 * value for value in values], None
            name, drawn = label(cell.method, block.shown(cell)), True
            axis.errorbar(groups, y, yerr=bars, marker="o", capsize=2, label=name)
        axis.set(xlabel=what, ylabel="accuracy, %" if score is None else "followed, %")
        if drawn:
            axis.legend(frameon=False, fontsize=7)
        return drawn

    return paint


def _numbered(cells: list[Cell], names: re.Pattern, what: str) -> Callable:
    """Draw methods whose names end with a number against it, a line for what is before it."""

    def paint(axis) -> bool:
        lines: dict[str, list[tuple[int, Cell]]] = {}
        for cell in cells:
            if found := names.fullmatch(cell.method):
                lines.setdefault(found[1], []).append((int(found[2]), cell))
        for name, ends in sorted(lines.items()):
            ends.sort(key=lambda pair: pair[0])
            shares = [cell.accuracy() for _, cell in ends]
            bars = [[100 * (s.mean - s.low) for s in shares],
                    [100 * (s.high - s.mean) for s in shares]]  # fmt: skip
            axis.errorbar([number for number, _ in ends], [100 * s.mean for s in shares],
                          yerr=bars, marker="o", capsize=2, label=name)  # fmt: skip
        axis.set(xlabel=what, ylabel="accuracy, %")
        axis.xaxis.get_major_locator().set_params(integer=True)
        if lines:
            axis.legend(frameon=False)
        return bool(lines)

    return paint
