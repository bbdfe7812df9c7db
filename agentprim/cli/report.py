"""`agentprim report`: the papers' tables from the rows of runs."""

from pathlib import Path
from typing import Annotated

import typer

from agentprim.cli.options import Debug
from agentprim.evaluate.report import write


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders that `agentprim eval` wrote.")],
    out: Annotated[Path, typer.Option(help="Where the report goes.")] = Path("report"),
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Draw figures.")] = True,
    debug: Debug = False,
) -> None:
    """Write the papers' tables and curves as Markdown and HTML, as far as the runs hold them."""
    for path in write(runs, out, plots=plots):
        print(path)
