"""Options of commands that plan, and the organizer that they name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from agentprim.engine import Engine
from agentprim.organizer import KnowledgePool, Organizer, Proposal, Remote
from agentprim.organizer.choose import organizer as make
from agentprim.organizer.proposal import Proposes, propose_each

Rule = Annotated[
    str,
    typer.Option(
        "--organizer",
        help="Who plans: llm (the model itself), remote:MODEL, bm25-top1, random or fixed:ID.",
    ),
]
Url = Annotated[
    str | None,
    typer.Option("--organizer-url", help="Address of remote:MODEL, up to /v1. [default: OpenAI's]"),
]
PoolFile = Annotated[
    Path | None, typer.Option("--pool", help="SQLite file with structures of your own.")
]
NoKnowledge = Annotated[
    bool, typer.Option("--no-knowledge", help="Show the planning model no structures.")
]
Seed = Annotated[int, typer.Option(help="Of what is drawn.")]


def needs_model(rule: str) -> bool:
    """Tell whether a rule asks the model itself."""
    return rule == "llm"


def organizer(
    rule: str,
    engine: Engine | None,
    *,
    url: str | None,
    pool: Path | None,
    no_knowledge: bool,
    seed: int,
) -> Proposes:
    """Make the organizer of a command's options.

    Raises:
        ValueError: There is no such rule or entry, or an option means nothing for it.
        ImportError: What it needs is not installed.
    """
    if url is not None and not rule.startswith("remote:"):
        raise ValueError(f"organizer-url must be used with --organizer remote:MODEL, got {rule!r}")
    knowledge = None if no_knowledge else KnowledgePool.builtin(pool)
    if rule.startswith("remote:"):
        return Organizer(Remote(rule.removeprefix("remote:"), url), knowledge)
    return make(rule, engine, knowledge, seed=seed)


class Told:
    """An organizer that tells what it proposes."""

    def __init__(self, inner: Proposes, tell: Callable[[Proposal], None]) -> None:
        """Stand in for an organizer."""
        self._inner, self._tell = inner, tell

    def propose(self, query: str) -> Proposal:
        """Propose as the organizer does."""
        return self.propose_each([query])[0]

    def propose_each(self, queries: Sequence[str]) -> list[Proposal]:
        """Propose as the organizer does."""
        found = propose_each(self._inner, queries)
        for proposal in found:
            self._tell(proposal)
        return found


def origin(proposal: Proposal) -> str:
    """Say in one line where a plan comes from."""
    known = f", from {', '.join(proposal.entries)}" if proposal.entries else ""
    if proposal.fallback:
        return f"FALLBACK plan, since no other was found: {proposal.problems[-1]}"
    tried = f", after {len(proposal.problems)} refused" if proposal.problems else ""
    return f"plan by {proposal.source}{known}{tried}"
