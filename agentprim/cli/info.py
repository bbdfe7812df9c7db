"""`agentprim info`: what is installed, what will run, and why the rest cannot."""

import platform
from dataclasses import asdict
from importlib.metadata import version

from rich.console import Console
from rich.table import Table

import agentprim
from agentprim.cli.options import Debug, Json
from agentprim.engine import smollm
from agentprim_kernels.build_info import BuildInfo, build_info

LIBRARIES = ("transformers", "numpy")


def info(as_json: Json = False, debug: Debug = False) -> None:
    """Show what was built, what runs on each device, and why something is missing."""
    built = build_info()
    versions = {
        "agentprim": agentprim.__version__,
        "python": platform.python_version(),
        "torch": built.torch,
        "triton": built.triton,
        **{name: version(name) for name in LIBRARIES},
    }
    demo = {"folder": str(smollm.place()), "converted": smollm.converted()}
    console = Console()
    if as_json:
        console.print_json(data={"versions": versions, "build": asdict(built), "demo_model": demo})
        return
    grid = Table.grid(padding=(0, 2))
    for name, value in facts(built, versions, demo):
        grid.add_row(name, value)
    console.print(grid, highlight=False, markup=False)
    console.print(_ops(built))


def facts(built: BuildInfo, versions: dict[str, str], demo: dict) -> list[tuple[str, str]]:
    """List each part of the installation with what it is, or why it is not there."""
    architectures = " ".join(built.cuda_architectures)
    no_cuda = f"none: {built.cuda_reason}"
    state = "converted" if demo["converted"] else "not converted yet"
    return [
        ("versions", ", ".join(f"{k} {v}" for k, v in versions.items() if v)),
        ("compiled module", built.compiler or f"none: {built.native_reason}"),
        ("CUDA part", f"{built.cuda}, for {architectures}" if built.cuda else no_cuda),
        ("Triton", built.triton or f"none: {built.triton_reason}"),
        ("devices", ", ".join(built.devices)),
        ("demo model", f"{demo['folder']} ({state})"),
    ]


def _ops(built: BuildInfo) -> Table:
    table = Table(title="what runs when nothing is named", title_justify="left")
    table.add_column("op")
    for device in built.impls:
        here = device == "cpu" or len(built.devices) > 1
        table.add_column(device if here else f"{device} (no such device here)")
    for op in built.impls["cpu"]:
        table.add_row(op, *(impls[op] for impls in built.impls.values()))
    return table
