"""Choosers: plans straight from the pool, without a model. The paper's ablations need them."""

import random

from agentprim.engine import Engine
from agentprim.organizer.organizer import FALLBACK, Organizer
from agentprim.organizer.pool import KnowledgePool
from agentprim.organizer.proposal import Proposal, Proposes

RULES = ("llm", "random", "bm25-top1", "fixed:<id>")


class Chooser:
    """Takes a plan from the pool as it is: the best match, one at random, or always the same."""

    def __init__(self, rule: str, knowledge: KnowledgePool, *, seed: int = 0) -> None:
        """Choose a rule.

        Args:
            rule: `"bm25-top1"`, `"random"` (the same for the same seed and query), or
                `"fixed:<id>"`.
            knowledge: The pool.
            seed: For `"random"`.

        Raises:
            ValueError: There is no such rule, or no such entry.
        """
        if rule not in ("random", "bm25-top1") and not rule.startswith("fixed:"):
            raise ValueError(f"organizer must be one of {RULES}, got {rule!r}")
        self.rule, self.knowledge, self.seed = rule, knowledge, seed
        if rule.startswith("fixed:"):
            self._fixed()

    def plan(self, query: str):
        """Return a plan for a query."""
        return self.propose(query).plan

    def propose(self, query: str) -> Proposal:
        """Return a plan for a query with its story; the fallback where the pool is empty."""
        if self.rule == "random":
            entries = list(self.knowledge)
            entries = [random.Random(f"{self.seed} {query}").choice(entries)] if entries else []
        elif self.rule == "bm25-top1":
            entries = [entry for entry, _ in self.knowledge.search(query, 1)]
        else:
            entries = [self._fixed()]
        source = self.rule.split(":")[0]
        if not entries:
            return Proposal(plan=FALLBACK, source="fallback", problems=("the pool is empty",))
        return Proposal(plan=entries[0].plan, source=source, entries=(entries[0].id,))

    def _fixed(self):
        return self.knowledge[self.rule.removeprefix("fixed:")]


def organizer(rule, engine: Engine, knowledge: KnowledgePool | None, *, seed: int = 0) -> Proposes:
    """Make an organizer of a rule's name; leave one that is one.

    Args:
        rule: `"llm"` (the engine itself), `"random"`, `"bm25-top1"`, `"fixed:<id>"`, or anything
            with a method `propose`.
        engine: For `"llm"`.
        knowledge: The pool; None only for `"llm"`, which then is shown no structures.
        seed: For `"random"`.

    Raises:
        TypeError, ValueError: There is no such rule or entry, or no pool.
    """
    if hasattr(rule, "propose"):
        return rule
    if not isinstance(rule, str):
        raise TypeError(f"organizer must be one of {RULES} or propose, got {type(rule).__name__}")
    if rule == "llm":
        return Organizer(engine, knowledge)
    if knowledge is None:
        raise ValueError(f"knowledge must be a pool for organizer={rule!r}, got None")
    return Chooser(rule, knowledge, seed=seed)
