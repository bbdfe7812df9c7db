"""`agentprim demo`: one question, every primitive, over KV caches and over text."""

import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentprim.agent import Agent
from agentprim.cli.load import load
from agentprim.cli.method import PRIMITIVES, Kind, build
from agentprim.cli.options import Debug, Model
from agentprim.cli.progress import Progress
from agentprim.cli.quiet import quiet
from agentprim.cli.run import report
from agentprim.cli.table import shorten
from agentprim.engine import Engine

QUESTION = "Name three uses of a brick, and say which of them is the most surprising."
COUNTS = ("decoded", "latent", "prefilled", "reused")


def demo(
    question: Annotated[str, typer.Argument(help="What to answer.")] = QUESTION,
    model: Model = "smollm2",
    steps: Annotated[int, typer.Option(help="Most latent steps of an inner agent.")] = 40,
    inner_tokens: Annotated[int, typer.Option(help="Most tokens an inner agent decodes.")] = 64,
    max_new_tokens: Annotated[int, typer.Option(help="Most tokens of an answer.")] = 64,
    save: Annotated[
        Path | None, typer.Option("--json", help="Write everything to this file, too.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Answer one question in seven ways and compare what each of them cost."""
    out = Console()
    with save.open("w") if save else nullcontext() as file:
        with Progress(lines=True) as progress, quiet():
            engine, loading = load(model, progress)
            limits = {"steps": steps, "inner_tokens": inner_tokens}
            rows = answer_all(engine, question, limits, max_new_tokens, progress)
        out.print(f"question: {question}", highlight=False, markup=False)
        out.print(_table(rows, f"{model}, loaded in {loading:.1f} s", limits, out.width))
        out.print(seen(rows), highlight=False)
        if file is not None:
            data = {"question": question, "model": model, **limits, "rows": rows}
            json.dump({**data, "load_seconds": loading, "seen": seen(rows)}, file, indent=2)


def answer_all(
    engine: Engine, question: str, limits: dict, max_new_tokens: int, progress: Progress
) -> list[dict]:
    """Let a single agent and each primitive in both ways answer; return plain data, one each."""
    progress("warms up")
    Agent(engine)(question, max_new_tokens=2)
    ways: list[tuple[Kind, dict]] = [("single", {})]
    for kind in PRIMITIVES:
        ways += [(kind, {"comm": comm, **limits}) for comm in ("kv", "text")]
    rows = []
    for number, (kind, options) in enumerate(ways, 1):
        over = f" over {options['comm']}" if options else ""
        progress.prefix = f"{number}/{len(ways)} {kind}{over}: "
        method = build(engine, kind, progress, **options)
        begun = time.perf_counter()
        answer = method.call(question, max_new_tokens=max_new_tokens)
        seconds = time.perf_counter() - begun
        rows.append({"method": kind, **report(answer, method), "seconds": seconds})
    return rows


def seen(rows: list[dict]) -> str:
    """Say in one sentence what text cost against KV, summed over the primitives."""
    sums = {
        comm: {
            "seconds": sum(row["seconds"] for row in rows if row["comm"] == comm),
            **{c: sum(row["total"][c] for row in rows if row["comm"] == comm) for c in COUNTS},
        }
        for comm in ("kv", "text")
    }
    kv, text = sums["kv"], sums["text"]
    return (
        f"Over KV the primitives decoded {kv['decoded']} tokens and took {kv['latent']} latent "
        f"steps in {kv['seconds']:.0f} s; over text they decoded {text['decoded']}, "
        f"{text['decoded'] / kv['decoded']:.1f}x as many, in {text['seconds']:.0f} s, "
        f"{text['seconds'] / kv['seconds']:.1f}x as long."
    )


def _table(rows: list[dict], title: str, limits: dict, width: int) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption="inner agents: at most {steps} latent steps over kv, "
        "{inner_tokens} tokens over text".format(**limits),
        caption_justify="left",
    )
    for name in ("method", "comm", "answer"):
        table.add_column(name, ratio=1 if name == "answer" else None)
    for name in (*COUNTS, "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    room = max(16, width - 58)  # what the other columns leave
    for row in rows:
        counts = (f"{row['total'][name]:,}" for name in COUNTS)
        answer = Text(shorten(row["answer"], min(3 * room, 150)))
        table.add_row(row["method"], row["comm"], answer, *counts, f"{row['seconds']:.1f}")
    return table
