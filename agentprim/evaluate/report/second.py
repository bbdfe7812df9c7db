"""The tables of Jev-LiteMAS (arXiv 2610.21411), as far as a block holds them."""

from agentprim.evaluate.report.block import Block
from agentprim.evaluate.report.first import label, plain
from agentprim.evaluate.report.table import Table, count, percent, points, ratio, seconds

METHODS = (
    "single", "lite", "lite_text", "lite_control", "lite_control_text", "metagpt_control",
    "agentnet_control",
)  # fmt: skip
ABLATIONS = "its ablations (routing without semantic feedback, a router of rules) are not among our"
ABSENT = (
    ("2.2", "routing ablations", f"{ABLATIONS} methods"),
    ("2.3", "injected errors: accuracy, attack success, true and false positives of screening",
     "no method of a run takes injected errors; `LiteWorkflow` does, outside of the runner"),
    ("2.4", "budgets of calls", "no method of a run takes a budget; `LiteWorkflow(budget=...)`"
     " does, outside of the runner"),
    ("2.5", "teams of different models (AAA, ABB, ABA)", "a run has one model"),
)  # fmt: skip


def tables(block: Block) -> list[Table]:
    """Return tables 1 to 5."""
    empty = [Table(name=n, title=title, note=f"Not run: {why}.") for n, title, why in ABSENT]
    return [main(block), *empty]


def main(block: Block) -> Table:
    """Accuracy, tokens, time and calls."""
    found = []
    names = {name: None for name in METHODS}
    names |= {method: None for method, _ in block.rows if method.startswith(METHODS[1:])}
    for task in plain(block):
        for method, inner in block.rows:
            cell = block.find(task, method, inner)
            if method not in names or cell is None or not cell.n:
                continue
            base = block.beside(cell, "lite_control")
            compared = base is not None and base is not cell and base.n
            found.append((
                task, label(method, inner), str(cell.n), percent(cell.accuracy()),
                points(cell.against(base)) if compared else "",
                count(cell.tokens), count(cell.mean("decision_tokens")), seconds(cell.seconds),
                ratio(cell.seconds, base.seconds) if compared else "",
                count(cell.mean("generative_calls")), count(cell.mean("decision_calls")),
            ))  # fmt: skip
    ran = any(row[1].startswith("lite") for row in found)
    return Table(
        name="2.1", title="accuracy and cost of the lite workflow and its controls",
        columns=("task", "method", "n", "accuracy", "against lite_control", "tokens",
                 "of them for decisions", "seconds", "times lite_control", "generative calls",
                 "decision calls"),
        rows=tuple(found) if ran else (),
        note="Means of an item." if ran else "Not run: no method of the lite family is in the run.",
    )  # fmt: skip
