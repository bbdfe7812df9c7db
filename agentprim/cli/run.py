"""`agentprim run`: answer one question, show the answer as it comes and what it cost."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from agentprim.cli.load import load
from agentprim.cli.method import Kind, Method, build
from agentprim.cli.options import Debug, Json, Model
from agentprim.cli.progress import Progress
from agentprim.cli.quiet import quiet
from agentprim.cli.table import usage_table
from agentprim.cli.trace import tracing
from agentprim.engine import Output

NOT_ROTATED = (
    "WARNING: --no-rotate hands keys over WITHOUT moving them to their new positions. The answer "
    "is wrong on purpose; use it only to see what the rotation does."
)


def run(
    question: Annotated[str, typer.Argument(help="What to answer.")],
    primitive: Annotated[Kind, typer.Option(help="What answers.")] = "review",
    model: Model = "smollm2",
    comm: Annotated[
        Literal["kv", "text"] | None, typer.Option(help="What agents hand over. [default: kv]")
    ] = None,
    inner: Annotated[
        Literal["latent", "text", "prefill"] | None,
        typer.Option(help="How inner agents work. [default: latent over kv, text over text]"),
    ] = None,
    join: Annotated[
        Literal["relocate", "append", "repair", "auto"] | None,
        typer.Option(help="How what is handed over is placed. [default: relocate]"),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Most latent steps of an inner agent. [default: 40]")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="For review. [default: 2]")] = None,
    solvers: Annotated[int | None, typer.Option(help="For voting. [default: 3]")] = None,
    executors: Annotated[int | None, typer.Option(help="For planning. [default: 3]")] = None,
    inner_tokens: Annotated[
        int | None, typer.Option(help="Most tokens an inner agent decodes. [default: 256]")
    ] = None,
    max_new_tokens: Annotated[int, typer.Option(help="Most tokens of the answer.")] = 256,
    seed: Annotated[int | None, typer.Option(help="Of what is drawn. [default: 0]")] = None,
    no_rotate: Annotated[
        bool, typer.Option("--no-rotate", help="Hand keys over unrotated: wrong on purpose.")
    ] = False,
    pool_tokens: Annotated[
        int | None, typer.Option(help="Tokens that all caches may hold. [default: 65536]")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Write what happened here, one JSON object a line.")
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Answer a question by several agents that share one model."""
    if not question.strip():
        raise ValueError("question must have at least one character, got an empty one")
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
    out = Console()
    with tracing(trace) as write:
        if no_rotate:
            Console(stderr=True).print(NOT_ROTATED, style="bold red", highlight=False)
        with Progress() as progress, quiet():
            engine, _ = load(model, progress, pool_tokens)
            method = build(
                engine, primitive, progress, comm=comm, inner=inner, join=join, steps=steps,
                rounds=rounds, solvers=solvers, executors=executors, inner_tokens=inner_tokens,
                seed=seed, rotate=False if no_rotate else None,
            )  # fmt: skip
            answer = method.call(
                question,
                max_new_tokens=max_new_tokens,
                stream=None if as_json else progress.stream(out),
            )
        write(answer)
    if as_json:
        asked = {"question": question, "primitive": primitive, "model": model}
        out.print_json(data={**asked, **report(answer, method)})
    else:
        out.print()
        out.print(usage_table(answer.usage, method.words))


def report(answer: Output, method: Method) -> dict:
    """Describe an answer and its cost as plain data."""
    return {
        "comm": method.comm,
        "inner": method.inner,
        "answer": str(answer),
        "finish": answer.finish,
        "total": answer.usage.total.to_dict(),
        "roles": answer.usage.to_dict(),
    }
