"""System: a plan, or an organizer that makes one for each query, called like an agent."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from agentprim.engine import Engine, Output, together
from agentprim.errors import PlanError
from agentprim.organizer.choose import organizer as make_organizer
from agentprim.organizer.pool import KnowledgePool
from agentprim.organizer.proposal import propose_each
from agentprim.primitives.primitive import Item, Speak
from agentprim.workflow import Flow, Plan

_BUILTIN = object()


class System(Flow):
    """Answers a query by a graph of primitives; same call and same `Output` as an agent.

        system = System(engine, organizer="llm")
        out = system("What is 17 * 23?")

    The ablations of *Agent Primitives* (arXiv 2602.03695) are one argument each: `organizer`,
    `knowledge=None`, another model in `Organizer(...)`, and `rotate=False`.
    """

    def __init__(
        self,
        engine: Engine,
        plan: Plan | Mapping | None = None,
        organizer=None,
        *,
        knowledge: KnowledgePool | None = _BUILTIN,  # type: ignore[assignment]
        name: str = "system",
        **options,
    ) -> None:
        """Take a plan or an organizer.

        Args:
            engine: The model of all roles.
            plan: A plan, or one as plain data.
            organizer: Makes a plan for each query: an `Organizer`, or `"llm"` (the engine itself),
                `"random"`, `"bm25-top1"` or `"fixed:<id>"`.
            knowledge: The pool for an organizer that is named; by default the built-in one. None
                shows `"llm"` no structures.
            name: Name of the whole.
            options: As in `Flow`: `strict`, `watch`, and fields of `Options`.

        Raises:
            PlanError: The plan cannot run.
            ValueError, TypeError: Both or none of plan and organizer are given, or an option is
                wrong.
        """
        if (plan is None) == (organizer is None):
            given = "none" if plan is None else "both"
            raise ValueError(f"system must have a plan or an organizer, got {given}")
        if plan is not None and not isinstance(plan, Plan):
            plan = Plan.from_dict(plan)
        super().__init__(engine, plan, name=name, **options)
        self.organizer = None
        if organizer is not None:
            pool = KnowledgePool.builtin() if knowledge is _BUILTIN else knowledge
            self.organizer = make_organizer(organizer, engine, pool, seed=self.options.seed)

    def run(self, items: list[Item], speak: Speak) -> list[Output]:
        """Plan for each query where there is no plan yet.

        Equal plans run as one batch, and what different plans ask of the engine runs together.
        """
        if self.plan is not None:
            return self.follow(self.plan, items, speak)
        tasks = list(dict.fromkeys(item.task for item in items))
        proposals = dict(zip(tasks, propose_each(self.organizer, tasks), strict=True))
        unpaid = dict(proposals)  # a task that stands there twice costs once
        groups: dict[str, tuple[Plan, list[int]]] = {}
        for number, item in enumerate(items):
            proposal = proposals[item.task]
            if unpaid.pop(item.task, None) is not None:
                item.usage += proposal.usage
            item.trace.append(proposal.event)
            key = proposal.plan.to_json(None)
            groups.setdefault(key, (proposal.plan, []))[1].append(number)
        jobs = [
            partial(self._followed, plan, [items[number] for number in numbers], speak)
            for plan, numbers in groups.values()
        ]
        outputs: list[Output | None] = [None] * len(items)
        for (_, numbers), found in zip(groups.values(), together(*jobs), strict=True):
            for number, out in zip(numbers, found, strict=True):
                outputs[number] = out
        return outputs

    def _followed(self, plan: Plan, items: list[Item], speak: Speak) -> list[Output]:
        """Run a plan so that it could begin again: see `together`."""
        own = [replace(item, trace=list(item.trace)) for item in items]
        try:
            found = self.follow(plan, own, speak)
        except PlanError as error:
            error.add_note(f"in a plan of the organizer: {plan.to_json(None)}")
            raise
        for item, done in zip(items, own, strict=True):
            item.usage, item.trace = done.usage, done.trace
        return found
