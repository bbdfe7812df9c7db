"""Entries of a knowledge pool: a pattern of queries, and a structure that suits it."""

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentprim.workflow import Estimate, Plan, estimate

Task = Literal["math", "code", "choice", "knowledge", "science", "writing", "dialogue", "reasoning"]


class Pattern(BaseModel):
    """Which queries a structure is for.

    Attributes:
        tasks: Types of task; empty is any.
        when: One sentence on the query.
        answer: Its form, for example a number or a program.
        difficulty: How hard it is.
        tools: What the source uses besides a model, such as python; a plan has no tools.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: tuple[Task, ...] = ()
    when: str
    answer: str = "any"
    difficulty: Literal["easy", "medium", "hard", "any"] = "any"
    tools: tuple[str, ...] = ()


class Entry(BaseModel):
    """One structure.

    Attributes:
        id: Its name in a pool; empty gets one of its content when it is added.
        source, arxiv, section: The paper, its number on arXiv, and where in it, or in its code,
            the structure stands.
        pattern: Which queries it is for.
        strategy: One sentence on how it reasons.
        departure: What of the source the plan leaves out or changes; empty if nothing.
        plan: The structure as a plan.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field("", pattern=r"^[A-Za-z0-9._-]{0,80}$")
    source: str = ""
    arxiv: str = Field("", pattern=r"^(\d{4}\.\d{4,5})?$")
    section: str = ""
    pattern: Pattern
    strategy: str
    departure: str = ""
    plan: Plan

    @property
    def cost(self) -> Estimate:
        """What the plan costs at most, computed from it with the default options."""
        return estimate(self.plan)

    @property
    def text(self) -> str:
        """What a query is compared with."""
        p = self.pattern
        return " ".join([p.when, self.strategy, *p.tasks, p.answer, *p.tools, self.id])

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain data, without what is empty."""
        found = self.model_dump(exclude={"plan"}, exclude_defaults=True, mode="json")
        return {**found, "plan": self.plan.to_dict()}

    def named(self) -> "Entry":
        """Return the entry with an id: its own, or one of its content."""
        if self.id:
            return self
        content = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        return self.model_copy(update={"id": f"content-{digest}"})
