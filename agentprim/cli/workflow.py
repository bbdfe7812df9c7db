"""`agentprim workflow run`: let experts of a file work on a task, and show who did what."""

from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from agentprim.cli.load import load
from agentprim.cli.options import Debug, Json, Model
from agentprim.cli.progress import Progress
from agentprim.cli.quiet import quiet
from agentprim.cli.table import shorten
from agentprim.cli.trace import tracing
from agentprim.engine import Event, Output
from agentprim.workflow.lite.account import Prices, lines
from agentprim.workflow.lite.spec import Spec, build

workflow = typer.Typer(
    help="Experts that are routed and screened by bounded decisions.", no_args_is_help=True
)


@workflow.callback()
def _group() -> None:
    """Experts that are routed and screened by bounded decisions."""


@workflow.command()
def run(
    spec: Annotated[Path, typer.Argument(help="A YAML file; see docs/decisions.md.")],
    task: Annotated[str, typer.Argument(help="What to work on.")],
    model: Model = "smollm2",
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    price_read: Annotated[float, typer.Option(help="Of a million tokens read.")] = 0.0,
    price_written: Annotated[float, typer.Option(help="Of a million tokens written.")] = 0.0,
    price_decided: Annotated[float, typer.Option(help="Of a million decision tokens.")] = 0.0,
    trace: Annotated[
        Path | None, typer.Option(help="Write what happened here, one JSON object a line.")
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Let the experts of a spec work on a task."""
    if not spec.is_file():
        raise ValueError(f"spec must be a file, got {spec}")
    read = Spec.load(spec)
    prices = Prices(read=price_read, written=price_written, decided=price_decided)
    with tracing(trace) as write, Progress() as progress, quiet():
        engine, _ = load(model, progress)
        progress(f"{len(read.experts)} experts work")
        answer = build(read, engine)(task, seed=seed)
        write(answer)
    out = Console()
    if as_json:
        out.print_json(data={
            "task": task, "answer": str(answer), "finish": answer.finish,
            "trace": [event.to_dict() for event in answer.trace],
            "activities": [vars(line) for line in lines(answer.usage, prices)],
        })  # fmt: skip
        return
    out.print(_tree(answer))
    out.print(str(answer), markup=False, highlight=False)
    out.print()
    out.print(_table(answer, prices))


def _tree(answer: Output) -> Tree:
    """Draw the run: one branch for each routing decision, with what came of it."""
    tree = Tree(f"run ended by {answer.finish}")
    branch = tree
    for event in answer.trace:
        words = _words(event)
        if event.kind == "route":
            branch = tree.add(words)
        elif words:
            branch.add(words)
    return tree


def _words(event: Event) -> str:
    d = event.detail
    if event.kind == "route":
        sure = d.get("probabilities", {}).get(d["chosen"])
        return f"{d['chosen']} (by {d['by']}{'' if sure is None else f', p = {sure:.2f}'})"
    if event.kind == "screen":
        sure = f", p = {d['probability']:.2f}" if "probability" in d else ""
        return f"screened: {'passes' if d['passed'] else 'flagged'}{sure}"
    if event.kind == "review":
        verdict = "accepted" if d["passed"] else shorten(d["text"], 60)
        return f"reviewed: {verdict}".replace("[", r"\[")
    if event.kind == "failure":
        return f"{d['agent']} failed: {d['error']}".replace("[", r"\[")
    if event.kind == "budget":
        return d["exceeded"]
    return f"{event.role} works" if event.kind == "call" else ""


def _table(answer: Output, prices: Prices) -> Table:
    table = Table(
        title="cost by activity",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        collapse_padding=True,
    )  # nine columns in 80 characters
    table.add_column("activity", no_wrap=True)
    names = ("calls", "decisions", "read", "written", "decided")
    priced = any(vars(prices).values())
    for name in (*names, "s", "share", *(["cost"] if priced else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines(answer.usage, prices):
        row = [f"{getattr(line, name):,}" for name in names]
        row += [f"{line.seconds:.1f}", f"{line.token_share:.0%}"]
        table.add_row(line.activity, *row, *([f"{line.money:.2g}"] if priced else []))
    return table
