"""`agentprim eval --list`: what can be evaluated."""

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from agentprim.evaluate.find import described


def show(wanted: bool) -> None:
    """Print all tasks and methods, and end the command."""
    if not wanted:
        return
    table = Table("", "name", "about", box=SIMPLE_HEAD)
    last = ""
    for kind, name, about in described():
        table.add_row("" if kind == last else kind, name, about)
        last = kind
    Console().print(table)
    raise typer.Exit
