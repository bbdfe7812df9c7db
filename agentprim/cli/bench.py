"""`agentprim bench`: the ops beside plain torch on this machine, checked before they are timed."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import torch
import typer
from rich.console import Console
from rich.table import Table

from agentprim.cli.options import Debug
from agentprim.cli.progress import Progress
from agentprim_kernels.bench import CASES, Row, run
from agentprim_kernels.build_info import build_info

Device = Literal["cpu", "cuda"]


def bench(
    ops: Annotated[list[str] | None, typer.Argument(help=f"Some of: {', '.join(CASES)}.")] = None,
    device: Annotated[
        Device | None, typer.Option(help="The GPU if there is one, else the CPU.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads on a CPU.")] = None,
    layers: Annotated[int, typer.Option(min=1, help="Layers of the caches.")] = 8,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Also time torch.compile, which compiles first.")
    ] = False,
    path: Annotated[Path | None, typer.Option("--json", help="Also write JSON here.")] = None,
    debug: Debug = False,
) -> None:
    """Time each op against plain torch and against a plain copy of the same bytes.

    8 KV heads of 128 dims, 32 query heads, 4,096 tokens in bfloat16. Every result is compared with
    the reference before its time is taken; a fault ends the command.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    for op in ops or ():
        if op not in CASES:
            raise ValueError(f"ops must be some of {', '.join(CASES)}, got {op}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device must be one that is here, got cuda")
    if threads:
        torch.set_num_threads(threads)
    console = Console()
    with Progress() as report:
        rows = run(ops or CASES, device=device, layers=layers, compiled=compiled, report=report)
    console.print(table(rows, machine(device)))
    built = build_info()
    if device == "cpu" and not built.native:
        console.print(f"the compiled module is not there: {built.native_reason}", highlight=False)
    if path:
        record = {"machine": machine(device), "rows": [asdict(row) for row in rows]}
        path.write_text(json.dumps(record, indent=1) + "\n")


def machine(device: str) -> dict[str, object]:
    """Say what it ran on: nothing that names a host or a person."""
    found: dict[str, object] = {"device": device, "torch": torch.__version__}
    if device == "cuda":
        return found | {"gpu": torch.cuda.get_device_name()}
    return found | {"threads": torch.get_num_threads()}


def table(rows: list[Row], about: dict[str, object]) -> Table:
    """Lay out one row a provider, one section an op."""
    title = ", ".join(f"{name} {value}" for name, value in about.items())
    found = Table(title=title, title_justify="left")
    for name in ("op", "provider"):
        found.add_column(name, no_wrap=True)
    for name in ("ms", "GB/s", "of a copy"):
        found.add_column(name, justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        if number and rows[number - 1].op != row.op:
            found.add_section()
        found.add_row(
            row.op, row.provider, f"{row.ms:.3f}", f"{row.gb_per_s:.1f}", f"{row.share_of_copy:.0%}"
        )
    return found
