"""`agentprim verify`: certify a model, or refuse it, and show what was measured."""

from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from agentprim.cli.load import load
from agentprim.cli.options import Debug
from agentprim.cli.progress import Progress
from agentprim.cli.quiet import quiet
from agentprim.engine.certificates import save
from agentprim.trust import Certificate
from agentprim.trust import verify as verify_engine
from agentprim.trust.table import NARROW, facts, sections

_POOL = 32768


def verify(
    model: Annotated[
        str, typer.Argument(help="Hugging Face name or folder; 'smollm2' is that of the demo.")
    ] = "smollm2",
    full: Annotated[
        bool, typer.Option("--full", help="Measure 100 items; less than an hour for a small model.")
    ] = False,
    save_to: Annotated[
        Path | None, typer.Option("--json", help="Write the certificate to this file, too.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep finished items here; a killed run goes on from it.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the items.")] = 0,
    pool_tokens: Annotated[int, typer.Option(help="Tokens that all caches may hold.")] = _POOL,
    debug: Debug = False,
) -> None:
    """Prove how a model's keys move, check joined caches, and measure what they approximate."""
    with Progress(lines=True) as progress, quiet():
        engine, _ = load(model, progress, pool_tokens=pool_tokens)
        progress("checks joined caches")
        certificate = verify_engine(
            engine, full, lambda done, total: progress(f"measured {done} of {total} items"),
            out=out, seed=seed,
        )  # fmt: skip
    if save_to is not None:
        save(certificate, save_to)
    show(certificate, Console())


def show(certificate: Certificate, console: Console) -> None:
    """Print a certificate."""
    grid = Table.grid(padding=(0, 2))
    for name, value in facts(certificate):
        grid.add_row(name, value)
    console.print(grid, highlight=False, markup=False)
    for title, rows in sections(certificate, narrow=True):
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False,
                      padding=(0, 1, 0, 0))  # fmt: skip
        for name in NARROW:
            table.add_column(name, justify="left" if name == "way" else "right",
                             no_wrap=name != "way")  # fmt: skip
        for row in rows:
            table.add_row(*row)
        console.print(table, highlight=False, markup=False)
