"""Tables of our own: what everything cost, our aims, and all models side by side."""

from statistics import fmean

from agentprim.evaluate.report.block import BASE, Block, shown
from agentprim.evaluate.report.cells import KINDS
from agentprim.evaluate.report.first import label, plain
from agentprim.evaluate.report.table import Table, count, percent, ratio, seconds

PRIMITIVES = ("review", "voting", "planning", "primitives")
FEWER = 4.0
WALL = {"prefill": 1.3, "latent": 1.7}


def cost(block: Block) -> Table:
    """Everything that was counted, one row a cell."""
    found = []
    for cell in block.cells:
        calls = (count(cell.mean("generative_calls")), count(cell.mean("decision_calls")))
        found.append((
            cell.task, label(cell.method, block.shown(cell)), f"{cell.n}", str(len(cell.failed)),
            percent(cell.accuracy()), *(count(cell.mean(kind)) for kind in KINDS), *calls,
            seconds(cell.seconds), f"{cell.pool:,}",
        ))  # fmt: skip
    kinds = tuple(kind.replace("_", " ") for kind in KINDS)
    return Table(
        name="", title="cost by kind of token",
        columns=("task", "method", "n", "failed", "accuracy", *kinds, "calls", "decisions",
                 "seconds", "peak pool"),
        rows=tuple(found),
        note="Means of an item; reused and relocated tokens were not computed again. The peak of "
        "the pool is in tokens, of a whole batch.",
    )  # fmt: skip


def aims(block: Block) -> Table:
    """Decoded tokens against the text twin, and time against single and text_mas."""
    found = []
    for cell in block.cells:
        base = block.beside(cell, BASE)
        if cell.method.removesuffix("_unrepeated") not in PRIMITIVES or not cell.n or base is None:
            continue
        twin, text = block.twin(cell), block.beside(cell, "text_mas")
        fewer = _over(twin and twin.mean("decoded"), cell.mean("decoded"))
        wall, most = _over(cell.seconds, base.seconds), WALL.get(cell.inner)
        found.append((
            cell.task, cell.method, cell.inner, "not run" if fewer is None else f"{fewer:.2f}x",
            _met(fewer is not None, fewer and fewer >= FEWER),
            ratio(cell.seconds, base.seconds),
            _met(most is not None and wall is not None, wall and most and wall <= most),
            ratio(cell.seconds, text.seconds) if text and text.n else "not run",
        ))  # fmt: skip
    return Table(
        name="", title="where the aims stand",
        columns=("task", "method", "inner", "decoded fewer than twin", f"at least {FEWER:.0f}x",
                 "time of single", "within aim", "time of text_mas"),
        rows=tuple(found),
        note="Aims: wall time at most 1.3x of `single` with prefill, 1.7x with latent."
        if found else "No primitive was run beside `single`.",
    )  # fmt: skip


def _over(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def _met(known: bool, yes) -> str:
    return ("yes" if yes else "no") if known else "no aim or not run"


def models(found: list[Block]) -> Table:
    """Mean accuracy of each method on each model: how stable it is."""
    inners = sorted({inner for block in found for inner in block.inners})
    names = dict.fromkeys(
        (cell.method, shown(cell, inners)) for block in found for cell in block.cells
    )
    rows = []
    for method, inner in names:
        texts = []
        for block in found:
            cells = [block.find(task, method, inner) for task in plain(block)]
            shares = [cell.accuracy().mean for cell in cells if cell is not None and cell.n]
            part = f" ({len(shares)} of {len(cells)} tasks)" if len(shares) < len(cells) else ""
            texts.append(f"{100 * fmean(shares):.1f}{part}" if shares else "not run")
        rows.append((label(method, inner), *texts))
    heads = tuple(f"{number}. {b.about['model']['name']}" for number, b in enumerate(found, 1))
    note = "Means of a row's own cells, in per cent. Numbers of columns are those of sections."
    if len(found) < 2:
        note = f"{note} One model: nothing to compare."
    return Table(name="1.10", title="stability over models", columns=("method", *heads),
                 rows=tuple(rows), note=note)  # fmt: skip
