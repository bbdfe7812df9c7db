"""`agentprim inspect`: what a trace file says about who handed what to whom."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentprim.cli.options import Debug
from agentprim.cli.table import shorten

_COUNTS = ("prefilled", "decoded", "latent", "reused", "relocated", "recomputed")
_KNOWN = ("handover", "call", "answer")


def inspect(
    trace: Annotated[Path, typer.Argument(help="A file written by `agentprim run --trace`.")],
    debug: Debug = False,
) -> None:
    """Show the hand-overs, calls and decisions of a run, and what each role cost."""
    events = read_trace(trace)
    out = Console()
    handovers = [one for one in events if one["kind"] == "handover"]
    calls = [one for one in events if one["kind"] == "call"]
    for table in (_handovers(handovers), _calls(calls), _totals(calls)):
        if table.row_count:
            out.print(table)
    for one in handovers:
        if one.get("why"):
            out.print(f"chosen by {one['chosen_by']} for {one['role']}: {one['why']}",
                      highlight=False, markup=False)  # fmt: skip
    for one in events:
        if one["kind"] not in _KNOWN:
            out.print(_decision(one), highlight=False, markup=False)
    for one in events:
        if one["kind"] == "answer":
            out.print(Text(f"answer: {shorten(str(one.get('text', '')), 300)}"))
    if any(one.get("rotate") is False for one in handovers):
        out.print("WARNING: keys were handed over WITHOUT rotation; it is wrong on purpose.",
                  style="bold red", highlight=False)  # fmt: skip


def read_trace(path: Path) -> list[dict]:
    """Read a trace, one JSON object a line.

    Raises:
        ValueError: It is something else, or empty.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"trace must be a file that can be read, got {path}: {error}") from error
    events = []
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line) if line.strip() else None
        except ValueError:
            event = 0
        if event is None:
            continue
        if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
            raise ValueError(
                f"trace must have one event a line, got {line[:40]!r} in line {number}"
            )
        events.append(event)
    if not events:
        raise ValueError(f"trace must have at least one event, got none in {path}")
    return events


def _handovers(events: list[dict]) -> Table:
    names = ("from", "to", "tokens", "spans", "deltas", "mode", "again", "kl", "seconds")
    table = _new("hand-overs", names, left=("from", "to", "mode"))
    for one in events:
        kl = one.get("kl")
        table.add_row(
            str(one.get("sender", "")), str(one.get("role", "")), _number(one.get("tokens")),
            _number(one.get("spans")), ", ".join(f"{delta:+d}" for delta in one.get("deltas", ())),
            _mode(one), _number(one.get("recomputed")), "" if kl is None else f"{kl:.3f}",
            f"{one.get('seconds', 0):.3f}",
        )  # fmt: skip
    return table


def _mode(one: dict) -> str:
    words = [str(one.get("join", "")), str(one.get("carry", ""))]
    words += ["shared"] * (one.get("offsets") == "shared")
    words += ["NOT ROTATED"] * (one.get("rotate") is False)
    return ", ".join(word for word in words if word)


def _calls(events: list[dict]) -> Table:
    table = _new("calls", ("role", "inner", *_COUNTS, "seconds"), left=("role", "inner"))
    for one in events:
        table.add_row(
            str(one.get("role", "")), str(one.get("inner", "")),
            *(_number(one.get(name)) for name in _COUNTS), f"{one.get('seconds', 0):.2f}",
        )  # fmt: skip
    return table


def _totals(events: list[dict]) -> Table:
    sums: dict[str, Counter] = {}
    for one in events:
        own = sums.setdefault(str(one.get("role", "")), Counter())
        own.update({name: one.get(name, 0) for name in (*_COUNTS, "seconds")})
        own["calls"] += 1
    if len(sums) > 1:
        sums["all"] = sum(sums.values(), Counter())
    table = _new("totals by role", ("role", "calls", *_COUNTS, "seconds"), left=("role",))
    for role, own in sums.items():
        counts = (_number(own[name]) for name in ("calls", *_COUNTS))
        table.add_row(role, *counts, f"{own['seconds']:.2f}")
    return table


def _decision(one: dict) -> str:
    rest = {k: v for k, v in one.items() if k not in ("kind", "role")}
    said = ", ".join(f"{name} {shorten(str(value), 60)}" for name, value in rest.items())
    return f"{one['kind']} by {one.get('role', '')}: {said}"


def _new(title: str, names: tuple[str, ...], left: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False,
                  padding=(0, 1, 0, 0))  # fmt: skip
    for name in names:
        table.add_column(name, justify="left" if name in left else "right")
    return table


def _number(value) -> str:
    return "" if value is None else f"{value:,}"
