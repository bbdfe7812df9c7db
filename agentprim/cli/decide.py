"""`agentprim decide`: ask one bounded question about a text."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from agentprim.cli.load import load
from agentprim.cli.options import Debug, Json, Model
from agentprim.cli.progress import Progress
from agentprim.cli.quiet import quiet
from agentprim.decide import Calibration, Decider, Decision, Question, choose, judge, score


def decide(
    state: Annotated[str, typer.Argument(help="The text to judge; @FILE reads it from a file.")],
    question: Annotated[str, typer.Argument(help="What is asked about it.")],
    option: Annotated[
        list[str] | None, typer.Option(help="An option; give it twice or more to choose.")
    ] = None,
    levels: Annotated[str | None, typer.Option(help="Levels to score, such as 1-5.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Offer 'none of these' too.")] = False,
    prior: Annotated[
        bool, typer.Option("--prior", help="Subtract what is said without a state.")
    ] = False,
    calibration: Annotated[
        Path | None, typer.Option(help="A file of `agentprim calibrate`.")
    ] = None,
    model: Model = "smollm2",
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Ask one bounded question: yes or no, one of the options, or a level."""
    asked = _question(question, option, levels, none)
    if state.startswith("@"):
        state = Path(state[1:]).read_text()
    known = Calibration.load(calibration) if calibration else None
    with Progress() as progress, quiet():
        engine, _ = load(model, progress)
        progress("decides")
        decision = Decider(engine, calibration=known, prior=prior).ask([asked], state)[0]
    out = Console()
    if as_json:
        out.print_json(data={"question": question, "model": model, **decision.to_dict()})
    else:
        out.print(_table(decision))
        value = "" if decision.value is None else f"value {decision.value:.3f}, "
        cost = f"{decision.tokens} tokens, {decision.seconds:.2f} s"
        out.print(f"{value}confidence {decision.confidence:.2f}, {cost}")


def _question(text: str, options: list[str] | None, levels: str | None, none: bool) -> Question:
    if options and levels:
        raise ValueError("levels must be left out where options are given, got both")
    if none and not options:
        raise ValueError("--none must be used with --option, got no option")
    if options:
        return choose(options, text, none=none)
    if levels:
        first, dash, last = levels.partition("-")
        if not (dash and first.isdigit() and last.isdigit() and int(first) < int(last)):
            raise ValueError(f"levels must be like 1-5, got {levels!r}")
        return score(range(int(first), int(last) + 1), text)
    return judge(text)


def _table(decision: Decision) -> Table:
    table = Table()
    table.add_column("option")
    table.add_column("probability", justify="right")
    for name, p in sorted(decision.probabilities.items(), key=lambda one: -one[1]):
        table.add_row(name.replace("[", r"\["), f"{p:.4f}")
    return table
