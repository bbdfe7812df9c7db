"""`agentprim pool`: look at the structures of a knowledge pool, and change one's own."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from agentprim.cli.options import Debug, Json
from agentprim.cli.organize import PoolFile
from agentprim.organizer import Entry, KnowledgePool

pool = typer.Typer(
    help="Look at the knowledge pool, or change one of your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Name = Annotated[str, typer.Argument(help="Id of an entry.")]
File = Annotated[Path, typer.Option("--pool", help="SQLite file; it is made where it is missing.")]


@pool.command("list")
def list_(
    task: Annotated[str | None, typer.Option(help="Only of this type of task.")] = None,
    file: PoolFile = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """List all structures."""
    found = [e for e in KnowledgePool.builtin(file) if task is None or task in e.pattern.tasks]
    _print(found, [""] * len(found), as_json)


@pool.command()
def show(name: Name, file: PoolFile = None, as_json: Json = False, debug: Debug = False) -> None:
    """Show one structure and its plan."""
    known = KnowledgePool.builtin(file)
    entry, stats = known[name], known.stats(name)
    cost = {name: getattr(entry.cost, name) for name in ("calls", "decoded", "latent")}
    data = {**entry.to_dict(), "runs": stats.runs, "wins": stats.wins, "cost": cost}
    if as_json:
        Console().print_json(data=data)
        return
    plan = data.pop("plan")
    for key, value in data.items():
        print(f"{key}: {value if isinstance(value, str) else json.dumps(value)}")
    print(f"\n{json.dumps(plan, indent=2, ensure_ascii=False)}\n\n{entry.plan.to_mermaid()}")


@pool.command()
def search(
    query: Annotated[str, typer.Argument(help="What a structure is looked for.")],
    k: Annotated[int, typer.Option("-k", help="How many, at most.")] = 5,
    task: Annotated[str | None, typer.Option(help="Only of this type of task.")] = None,
    file: PoolFile = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Find the structures that fit a question."""
    found = KnowledgePool.builtin(file).search(query, k, task=task)
    _print([e for e, _ in found], [f"{score:.2f}" for _, score in found], as_json)


@pool.command()
def add(
    entry: Annotated[Path, typer.Argument(help="JSON file of an entry, as `show --json` has it.")],
    file: File,
    debug: Debug = False,
) -> None:
    """Store a structure; one of the same id is replaced."""
    try:
        data = json.loads(entry.read_text())
    except ValueError as error:
        raise ValueError(f"entry must be JSON, got an error in {entry}: {error}") from None
    if isinstance(data, dict):
        data = {k: v for k, v in data.items() if k not in ("runs", "wins", "cost")}
    print(KnowledgePool.builtin(file).add(Entry.model_validate(data)))


@pool.command()
def remove(name: Name, file: File, debug: Debug = False) -> None:
    """Delete a structure and what was recorded of it."""
    KnowledgePool.builtin(file).remove(name)


@pool.command()
def record(
    name: Name,
    file: File,
    success: Annotated[bool, typer.Option("--win/--loss", help="How a run of it went.")],
    debug: Debug = False,
) -> None:
    """Note how a run of a structure went; later searches take it into account."""
    KnowledgePool.builtin(file).record(name, success)


@pool.command()
def stats(file: PoolFile = None, as_json: Json = False, debug: Debug = False) -> None:
    """Show what was recorded of each structure."""
    known = KnowledgePool.builtin(file)
    rows = [(one.id, known.stats(one.id)) for one in known]
    used = [(name, s) for name, s in rows if s.runs]
    if as_json:
        Console().print_json(data={
            "entries": len(rows),
            "outcomes": {n: {"runs": s.runs, "wins": s.wins, "rate": s.rate} for n, s in used},
        })  # fmt: skip
        return
    table = _table("id", "runs", "wins", "rate")
    for name, s in used:
        table.add_row(name, str(s.runs), str(s.wins), f"{s.rate:.2f}")
    Console().print(f"{len(rows)} structures, {len(used)} with outcomes", highlight=False)
    if used:
        Console().print(table)


def _print(entries: list[Entry], scores: list[str], as_json: bool) -> None:
    if as_json:
        Console().print_json(data=[
            {**entry.to_dict(), **({"score": float(score)} if score else {})}
            for entry, score in zip(entries, scores, strict=True)
        ])  # fmt: skip
        return
    table = _table("id", *(["score"] if any(scores) else []), "calls", "when")
    for entry, score in zip(entries, scores, strict=True):
        cells = [entry.id, *([score] if score else []), str(entry.cost.calls), entry.pattern.when]
        table.add_row(*cells)
    Console().print(table)


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=name == "id", overflow="fold")
    return table
