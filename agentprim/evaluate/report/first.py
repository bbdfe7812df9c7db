"""The tables of Agent Primitives (arXiv 2602.03695), as far as a block holds them."""

from collections.abc import Callable
from statistics import fmean

from agentprim.evaluate.report.block import BASE, Block
from agentprim.evaluate.report.cells import Cell
from agentprim.evaluate.report.table import Table, count, percent, points, ratio, seconds

ORGANIZERS = ("primitives", "primitives_bm25", "primitives_random", "primitives_no_pool")
STRESS = ("injection", "noise")


def tables(block: Block) -> list[Table]:
    """Return tables 1 to 9; the tenth goes over all models."""
    return [
        accuracy(block), tokens(block), times(block), differences(block), twins(block),
        some("1.6", "the Organizer and its pool", block, ORGANIZERS),
        unrotated(block), injection(block), noise(block),
    ]  # fmt: skip


def label(method: str, inner: str | None) -> str:
    """Name a row."""
    return f"{method} [{inner}]" if inner else method


def plain(block: Block) -> list[str]:
    """List the tasks that are no stress tests."""
    return [task for task in block.tasks if task not in STRESS]


def grid(
    block: Block, show: Callable[[Cell], str], value: Callable[[Cell], float | None],
    mean: Callable[[float], str], rows: list | None = None,
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:  # fmt: skip
    """Lay out methods against tasks, and the mean of each row's own cells."""
    tasks, found = plain(block), []
    for method, inner in block.rows if rows is None else rows:
        cells = [block.find(task, method, inner) for task in tasks]
        if all(cell is None for cell in cells):
            continue
        texts = [
            block.why_not(task, method, cell) or show(cell)
            for task, cell in zip(tasks, cells, strict=True)
        ]
        values = [value(cell) for cell in cells if cell is not None and cell.n]
        values = [one for one in values if one is not None]
        part = "" if len(values) == len(tasks) else f" ({len(values)} of {len(tasks)} tasks)"
        average = mean(fmean(values)) + part if values else ""
        found.append((label(method, inner), *texts, average))
    return ("method", *tasks, "mean"), tuple(found)


def accuracy(block: Block) -> Table:
    """Accuracy with Wilson intervals."""
    columns, rows = grid(block, _accuracy, _share, lambda v: f"{100 * v:.1f}")
    note = "Per cent, 95 % Wilson interval, n. An item that failed counts as wrong."
    return Table(name="1.1", title="accuracy", columns=columns, rows=rows, note=note)


def _accuracy(cell: Cell) -> str:
    text = f"{percent(cell.accuracy())}, n {cell.n}"
    text += f", {cell.open} to come" if cell.open else ""
    return text + (f", {len(cell.failed)} failed" if cell.failed else "")


def _share(cell: Cell) -> float | None:
    return cell.accuracy().mean if cell.n else None


def tokens(block: Block) -> Table:
    """Tokens of an item."""

    def show(cell: Cell) -> str:
        base = block.beside(cell, BASE)
        parts = f"{count(cell.tokens)} ({count(cell.mean('decoded'))} decoded)"
        return f"{parts}, {ratio(cell.tokens, base.tokens)}" if base else parts

    columns, rows = grid(block, show, lambda cell: cell.tokens, count)
    note = (
        "Tokens that the model computed for an item: prefilled, decoded, latent, recomputed and "
        "read for decisions; then how many times those of `single`."
    )
    return Table(name="1.2", title="tokens an item", columns=columns, rows=rows, note=note)


def times(block: Block) -> Table:
    """Wall time of an item."""

    def show(cell: Cell) -> str:
        base = block.beside(cell, BASE)
        return seconds(cell.seconds) + (f", {ratio(cell.seconds, base.seconds)}" if base else "")

    columns, rows = grid(block, show, lambda cell: cell.seconds, seconds)
    note = "Wall seconds, a batch shared evenly by its items; then times those of `single`."
    return Table(name="1.3", title="seconds an item", columns=columns, rows=rows, note=note)


def differences(block: Block) -> Table:
    """Paired differences against single."""
    found = []
    for method, inner in block.rows:
        if method == BASE:
            continue
        texts = []
        for task in plain(block):
            cell = block.find(task, method, inner)
            shown = "" if cell is None else points(block.against(cell))
            texts.append(block.why_not(task, method, cell) or shown or "single not run")
        if any(block.find(task, method, inner) for task in plain(block)):
            found.append((label(method, inner), *texts))
    return Table(
        name="1.4", title="paired difference in accuracy against single",
        columns=("method", *plain(block)), rows=tuple(found),
        note="Points, 95 % bootstrap interval over items, exact McNemar test.",
    )  # fmt: skip


def twins(block: Block) -> Table:
    """KV methods against their text twins."""
    found = []
    for cell in block.cells:
        twin = block.twin(cell)
        if twin is None or twin is cell or not cell.n or not twin.n:
            continue
        name = label(cell.method, block.shown(cell))
        found.append((
            cell.task, name, twin.method, points(cell.against(twin)),
            ratio(twin.mean("decoded"), cell.mean("decoded")), ratio(cell.tokens, twin.tokens),
            ratio(cell.seconds, twin.seconds),
        ))  # fmt: skip
    return Table(
        name="1.5", title="caches against text, the same structure",
        columns=("task", "method", "text twin", "difference", "decoded fewer", "tokens", "seconds"),
        rows=tuple(found), note="" if found else "No method was run beside its text twin.",
    )  # fmt: skip


def some(name: str, title: str, block: Block, methods: tuple[str, ...]) -> Table:
    """Accuracy of some methods, those that were not run included."""
    rows = [row for method in methods for row in block.rows if row[0] == method]
    columns, found = grid(block, _accuracy, _share, lambda v: f"{100 * v:.1f}", rows)
    absent = [method for method in methods if method not in {row[0] for row in rows}]
    note = f"Not run: {', '.join(absent)}." if absent else ""
    return Table(name=name, title=title, columns=columns, rows=found, note=note)


def unrotated(block: Block) -> Table:
    """The ablation of the rotation."""
    found = []
    for cell in block.cells:
        plain_name = cell.method.removesuffix("_unrotated")
        other = block.beside(cell, plain_name)
        if plain_name == cell.method or other is None or not cell.n:
            continue
        found.append((
            cell.task, label(plain_name, block.shown(cell)), percent(other.accuracy()),
            percent(cell.accuracy()), points(cell.against(other)),
        ))  # fmt: skip
    note = "" if found else "No method was run beside its ablation (`review_unrotated`, ...)."
    columns = ("task", "method", "rotated", "not rotated", "difference")
    title = "keys left unrotated"
    return Table(name="1.7", title=title, columns=columns, rows=tuple(found), note=note)


def injection(block: Block) -> Table:
    """Accuracy and compliance by the place of an injected instruction."""
    return _stress("1.8", "injection", "an instruction injected into long material", block)


def noise(block: Block) -> Table:
    """Accuracy by the number of noise sentences."""
    return _stress("1.9", "noise", "unrelated sentences in what is handed over", block)


def _stress(name: str, task: str, title: str, block: Block) -> Table:
    cells = [cell for cell in block.cells if cell.task == task and cell.n]
    groups = list(dict.fromkeys(group for cell in cells for group in cell.groups))
    rows = []
    for cell in cells:
        texts = []
        for group in groups:
            scores = sorted({s for row in cell.rows.values() for s in row.get("scores", {})})
            figures = [f"{s} {100 * v:.1f}" for s in scores
                       if (v := cell.score(s, group)) is not None]  # fmt: skip
            texts.append("; ".join([percent(cell.accuracy(group)), *figures]))
        rows.append((label(cell.method, block.shown(cell)), *texts))
    note = "Per cent right, 95 % Wilson interval; then further figures of the grader in per cent."
    why = block.missing.get(task)
    note = note if rows else f"No data: {why}" if why else f"The task `{task}` was not run."
    return Table(name=name, title=title, columns=("method", *groups), rows=tuple(rows), note=note)
