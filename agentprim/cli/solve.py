"""`agentprim solve`: plan for a question, run the plan, show the answer and what it cost."""

import functools
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from agentprim.cli.load import load
from agentprim.cli.options import Debug, Json, Model
from agentprim.cli.organize import (
    NoKnowledge,
    PoolFile,
    Rule,
    Seed,
    Told,
    Url,
    needs_model,
    organizer,
    origin,
)
from agentprim.cli.progress import Progress
from agentprim.cli.quiet import quiet
from agentprim.cli.run import NOT_ROTATED
from agentprim.cli.table import usage_table
from agentprim.cli.trace import tracing
from agentprim.cli.tree import Show
from agentprim.organizer import Proposal, System
from agentprim.workflow import Plan


def solve(
    question: Annotated[str, typer.Argument(help="What to answer.")],
    organizer_: Rule = "llm",
    url: Url = None,
    plan: Annotated[
        Path | None, typer.Option(help="Run the plan in this JSON file; nobody plans.")
    ] = None,
    model: Model = "smollm2",
    pool: PoolFile = None,
    no_knowledge: NoKnowledge = False,
    comm: Annotated[
        Literal["kv", "text"] | None, typer.Option(help="What agents hand over. [default: kv]")
    ] = None,
    inner: Annotated[
        Literal["latent", "text", "prefill"] | None,
        typer.Option(help="How inner agents work. [default: latent over kv, text over text]"),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Most latent steps. [default: 40]")] = None,
    inner_tokens: Annotated[
        int | None, typer.Option(help="Most tokens an inner agent decodes. [default: 256]")
    ] = None,
    max_new_tokens: Annotated[int, typer.Option(help="Most tokens of the answer.")] = 256,
    seed: Seed = 0,
    no_rotate: Annotated[
        bool, typer.Option("--no-rotate", help="Hand keys over unrotated: wrong on purpose.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where a step fails or a budget ends.")
    ] = False,
    pool_tokens: Annotated[
        int | None, typer.Option(help="Tokens that all caches may hold. [default: 65536]")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Show the plan while it runs.")] = False,
    trace: Annotated[
        Path | None, typer.Option(help="Write what happened here, one JSON object a line.")
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Answer a question by a graph of primitives that is made for it."""
    if not question.strip():
        raise ValueError("question must have at least one character, got an empty one")
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
    out, given = Console(), _given(comm=comm, inner=inner, steps=steps, inner_tokens=inner_tokens,
                                   rotate=False if no_rotate else None)  # fmt: skip
    fixed = Plan.from_json(plan.read_text()) if plan else None
    shown, told = Show(), []

    def tell(proposal: Proposal) -> None:
        told.append(proposal)
        progress(origin(proposal))
        begin(proposal.plan)

    def begin(one: Plan) -> None:
        if show:
            progress.stop()
            shown.begin(one)

    with ExitStack() as stack:
        keep = stack.enter_context(tracing(trace))
        if no_rotate:
            Console(stderr=True).print(NOT_ROTATED, style="bold red", highlight=False)
        progress = stack.enter_context(Progress())
        stack.enter_context(shown)
        stack.enter_context(quiet())
        make = functools.partial(organizer, organizer_, url=url, pool=pool,
                                 no_knowledge=no_knowledge, seed=seed)  # fmt: skip
        # what is wrong with it is said before a model is loaded
        who = None if fixed or needs_model(organizer_) else make(None)
        engine, _ = load(model, progress, pool_tokens)
        if fixed is None:
            who = Told(who or make(engine), tell)
        system = System(engine, fixed, who, seed=seed, strict=strict,
                        watch=shown if show else _says(progress), **given)  # fmt: skip
        progress("plans" if fixed is None else "begins")
        if fixed is not None:
            begin(fixed)
        write = progress.stream(out)

        def emit(text: str) -> None:
            shown.stop()
            write(text)

        answer = system(question, max_new_tokens=max_new_tokens, stream=None if as_json else emit)
        keep(answer)
    ran = told[0].plan if told else fixed
    if as_json:
        out.print_json(data={
            "question": question, "model": model, "organizer": "" if fixed else organizer_,
            "source": told[0].source if told else "file", "plan": ran.to_dict(),
            "answer": str(answer), "finish": answer.finish,
            "steps": {e.role: e.detail["status"] for e in answer.trace if e.kind == "step"},
            "total": answer.usage.total.to_dict(), "roles": answer.usage.to_dict(),
        })  # fmt: skip
        return
    out.print()
    words = origin(told[0]) if told else f"plan of {plan}"
    if answer.finish in ("error", "budget"):
        words += f"; NOT FINISHED ({answer.finish})"
    out.print(usage_table(answer.usage, words))


def _given(**options) -> dict:
    if options["rotate"] is False and options["comm"] == "text":
        raise ValueError("rotate must be left on with comm='text', which moves no keys")
    return {name: value for name, value in options.items() if value is not None}


def _says(progress: Progress):
    def watch(step: str, status: str, row: int) -> None:
        if status == "running":
            progress(f"{step} works")

    return watch
