"""`agentprim calibrate`: fit a decider to labelled states, and report on those held out."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from agentprim.cli.load import load
from agentprim.cli.options import Debug, Json, Model
from agentprim.cli.progress import Progress
from agentprim.cli.quiet import quiet
from agentprim.decide import Calibration, Decider, fit
from agentprim.decide.heldout import halves, held_out, label
from agentprim.decide.quality import Quality


def calibrate(
    data: Annotated[
        Path,
        typer.Argument(help='JSON lines: {"state": ..., "question": ..., "holds": true or false}.'),
    ],
    out: Annotated[Path, typer.Option(help="Where the calibration goes.")] = Path(
        "calibration.json"
    ),
    target: Annotated[float, typer.Option(help="Accepted false-release rate.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Of the split into halves.")] = 0,
    prior: Annotated[bool, typer.Option("--prior", help="Content-free correction.")] = False,
    model: Model = "smollm2",
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit temperature and threshold of each question on one half, and report on the other."""
    rows = read_rows(data)
    with Progress() as progress, quiet():
        engine, _ = load(model, progress)
    decider = Decider(engine, prior=prior)
    console = Console(stderr=True)
    found = [
        label(decider, **row)
        for row in track(rows, "decides", console=console, disable=not console.is_terminal)
    ]
    fitted, held = halves(found, seed)
    calibration = fit(fitted, target=target)
    calibration.save(out)
    report = {q: held_out(calibration, held, q) for q in calibration.temperatures}
    if as_json:
        Console().print_json(data={
            "calibration": json.loads(out.read_text()),
            "held_out": {q: one.to_dict() for q, one in report.items()},
        })  # fmt: skip
    else:
        Console().print(_table(calibration, report))
        print(out)


def read_rows(path: Path) -> list[dict]:
    """Read labelled states.

    Raises:
        ValueError: A line is not one; the message names it.
    """
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            good = isinstance(row["state"], str) and isinstance(row["question"], str)
            good = good and isinstance(row["holds"], bool)
        except (json.JSONDecodeError, KeyError, TypeError):
            good = False
        if not good:
            raise ValueError(f"data must have state, question and holds a line, got line {number}")
        rows.append({name: row[name] for name in ("state", "question", "holds")})
    return rows


def _table(calibration: Calibration, report: dict[str, Quality]) -> Table:
    table = Table(title="on the held-out half", title_justify="left")
    table.add_column("question")
    for name in ("n", "T", "threshold", "false release", "false escalation", "Brier", "ECE",
                 "AUROC"):  # fmt: skip
        table.add_column(name, justify="right")
    for question, one in report.items():
        table.add_row(
            question.replace("[", r"\["), str(one.n), f"{calibration.temperature(question):.2f}",
            f"{one.threshold:.3f}", f"{one.false_release:.1%}", f"{one.false_escalation:.1%}",
            f"{one.brier:.3f}", f"{one.ece:.3f}", f"{one.auroc:.3f}",
        )  # fmt: skip
    return table
