"""Variants of the lite workflow: ablations, budgets of calls, and teams of two models."""

from agentprim.evaluate.methods.registry import BUDGET
from agentprim.evaluate.report.block import Block
from agentprim.evaluate.report.first import label, plain
from agentprim.evaluate.report.table import Table, count, percent, points, seconds

ABLATIONS = (
    "lite", "lite_no_feedback", "lite_rule", "lite_llm_router", "lite_no_screening",
    "lite_decider_screening", "lite_llm_screening",
)  # fmt: skip
TEAMS = ("lite_aaa", "lite_abb", "lite_aba")
BUDGETS = range(2, 7)


def ablations(block: Block) -> Table:
    """What routing and screening are worth."""
    note = "Means of an item; differences in points, paired."
    return _beside("2.2", "ablations of routing and screening", block, ABLATIONS, note)


def teams(block: Block) -> Table:
    """Experts of two models."""
    model = block.about["model"]
    second = model.get("expert", {}).get("name", "not given (`--expert-model`)")
    note = (
        "The letters are the models of the analyst, the solver and the verifier; routing, "
        f"screening and reviews are A's. A: {model['name']}; B: {second}."
    )
    title = "teams of different models (AAA, ABB, ABA)"
    return _beside("2.5", title, block, TEAMS, note)


def _beside(name: str, title: str, block: Block, methods: tuple[str, ...], note: str) -> Table:
    """Compare methods with the first of them, those that were not run included."""
    columns = ("task", "method", "n", "accuracy", f"against {methods[0]}", "tokens", "seconds",
               "generative calls", "decision calls")  # fmt: skip
    ran = [method for method, _ in block.rows if method in methods[1:]]
    if not ran:
        why = f"Not run: none of {', '.join(methods[1:])} is in the run."
        return Table(name=name, title=title, note=why)
    found = []
    for task in plain(block):
        for method, inner in block.listed(methods):
            cell = block.find(task, method, inner)
            why = block.why_not(task, method, cell)
            if cell is None or why:
                found.append((task, label(method, inner), why, *[""] * (len(columns) - 3)))
                continue
            found.append((
                task, label(method, inner), str(cell.n), percent(cell.accuracy()),
                points(block.against(cell, methods[0])), count(cell.tokens),
                seconds(cell.seconds), count(cell.mean("generative_calls")),
                count(cell.mean("decision_calls")),
            ))  # fmt: skip
    return Table(name=name, title=title, columns=columns, rows=tuple(found), note=note)


def budgets(block: Block) -> Table:
    """Accuracy by the calls that a task may take."""
    title = "accuracy by the budget of calls"
    names = [found for method, _ in block.rows if (found := BUDGET.fullmatch(method))]
    if not names:
        why = "Not run: no budget (`lite-2` to `lite-6`, `lite_control-2`, ...) is in the run."
        return Table(name="2.4", title=title, note=why)
    calls = sorted({*BUDGETS, *(int(found[2]) for found in names)})
    rows = []
    for task in plain(block):
        for base in dict.fromkeys(found[1] for found in names):
            texts = []
            for number in calls:
                cell = block.find(task, f"{base}-{number}")
                why = block.why_not(task, f"{base}-{number}", cell)
                texts.append(
                    why
                    or f"{percent(cell.accuracy())}, n {cell.n}, "
                    f"{count(cell.mean('generative_calls'))} calls"
                )
            rows.append((task, base, *texts))
    note = "Per cent, 95 % Wilson interval, n, and the mean of the calls that were made."
    columns = ("task", "method", *(f"{number} calls" for number in calls))
    return Table(name="2.4", title=title, columns=columns, rows=tuple(rows), note=note)
