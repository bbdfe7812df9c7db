"""`agentprim plan`: plan for a question and show the plan, without running it."""

import json
from typing import Annotated

import typer
from rich.console import Console

from agentprim.cli.load import load
from agentprim.cli.options import Debug, Json, Model
from agentprim.cli.organize import (
    NoKnowledge,
    PoolFile,
    Rule,
    Seed,
    Url,
    needs_model,
    organizer,
    origin,
)
from agentprim.cli.progress import Progress
from agentprim.cli.quiet import quiet
from agentprim.workflow import estimate


def plan(
    question: Annotated[str, typer.Argument(help="What to plan for.")],
    organizer_: Rule = "llm",
    url: Url = None,
    model: Model = "smollm2",
    pool: PoolFile = None,
    no_knowledge: NoKnowledge = False,
    seed: Seed = 0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Print the plan for a question as JSON, and its drawing in Mermaid."""
    if not question.strip():
        raise ValueError("question must have at least one character, got an empty one")
    out = Console()
    with Progress() as progress, quiet():
        engine = load(model, progress)[0] if needs_model(organizer_) else None
        progress("plans")
        who = organizer(
            organizer_, engine, url=url, pool=pool, no_knowledge=no_knowledge, seed=seed
        )
        proposal = who.propose(question)
    found, cost = proposal.plan, estimate(proposal.plan)
    if as_json:
        out.print_json(data={
            "question": question, "plan": found.to_dict(), "source": proposal.source,
            "entries": list(proposal.entries), "problems": list(proposal.problems),
            "cost": {"calls": cost.calls, "decoded": cost.decoded, "latent": cost.latent},
            "mermaid": found.to_mermaid(),
        })  # fmt: skip
        return
    # the plan alone goes to stdout: what is piped into a file can be run
    Console(stderr=True).print(
        f"{origin(proposal)}; at most {cost.calls} calls, {cost.decoded} tokens and "
        f"{cost.latent} latent steps", highlight=False, markup=False,
    )  # fmt: skip
    print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    print(f"\n{found.to_mermaid()}")
