"""The tables of Jev-LiteMAS (arXiv 2610.21411), as far as a block holds them."""

from agentprim.evaluate.report.block import Block
from agentprim.evaluate.report.errors import injected
from agentprim.evaluate.report.first import label, plain
from agentprim.evaluate.report.table import Table, count, percent, points, ratio, seconds
from agentprim.evaluate.report.variants import ablations, budgets, teams

METHODS = (
    "single", "lite", "lite_text", "lite_control", "lite_control_text", "metagpt_control",
    "agentnet_control",
)  # fmt: skip


def tables(block: Block) -> list[Table]:
    """Return tables 1 to 5."""
    return [main(block), ablations(block), injected(block), budgets(block), teams(block)]


def main(block: Block) -> Table:
    """Accuracy, tokens, time and calls."""
    found = []
    for task in plain(block):
        for method, inner in block.rows:
            cell = block.find(task, method, inner)
            if method not in METHODS or cell is None or not cell.n:
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
