"""What an organizer proposes for a query, and how it came to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentprim.engine import Event, Usage
from agentprim.workflow import Plan


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A plan and where it comes from.

    Attributes:
        plan: It was checked and can run.
        source: `"llm"`, `"fallback"`, `"random"`, `"bm25-top1"` or `"fixed"`.
        entries: Ids of the entries that it was chosen from, or that the model was shown.
        problems: Why earlier replies were refused, or why this is a fallback.
        usage: What it cost here.
    """

    plan: Plan
    source: str
    entries: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def fallback(self) -> bool:
        """Whether no plan was found and this one stands in."""
        return self.source == "fallback"

    @property
    def event(self) -> Event:
        """What a trace says of it."""
        detail = {
            "source": self.source, "plan": self.plan.name, "steps": len(self.plan.steps),
            "entries": list(self.entries), "problems": list(self.problems),
        }  # fmt: skip
        return Event(kind="plan", role="organizer", detail=detail)


class Proposes(Protocol):
    """Anything that proposes plans. It may have `propose_each`, where a batch is cheaper."""

    def propose(self, query: str) -> Proposal:
        """Propose a plan for a query."""
        ...


def propose_each(who: Proposes, queries: Sequence[str]) -> list[Proposal]:
    """Ask for a plan for each query: all at once, or one by one where that is all there is."""
    if hasattr(who, "propose_each"):
        return who.propose_each(queries)
    return [who.propose(query) for query in queries]
