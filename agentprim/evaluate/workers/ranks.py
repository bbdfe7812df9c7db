"""Ranks: one engine that several processes hold together, by tensor parallelism under torchrun."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch.distributed as dist

from agentprim.evaluate.base import Grade, Item, Task
from agentprim.evaluate.job import Job, Registry
from agentprim.evaluate.workers.desk import Desk, Model


class Ranks:
    """Answers jobs in step: the first process deals them out, and it alone has rows to write.

    The others `serve`. All of them compute the same, so all must be given the same model.

    Attributes:
        facts: See `Desk.facts`.
        leads: Whether this is the first process.
    """

    def __init__(self, model: Model, registry: Registry) -> None:
        """Load this process's part of the model; `model.tp_plan` says how it is cut up."""
        engine = model.load()  # begins the processes' group
        self.leads = dist.get_rank() == 0
        if not self.leads:
            tasks = registry.task
            registry = replace(registry, task=lambda name: _Ungraded(tasks(name)))
        self._desk = Desk(model, registry, load=lambda: engine)
        self.facts = self._desk.facts()

    def __enter__(self) -> "Ranks":
        return self

    def __exit__(self, *fault) -> None:
        if self.leads:
            _deal(None)

    def __call__(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, list[dict]]]:
        """Answer each job; for the first process."""
        for job in jobs:
            yield job, self._desk(_deal(job))

    def serve(self) -> None:
        """Answer what the first process deals out, until there is no more; for all others."""
        while (job := _deal(None)) is not None:
            self._desk(job)


class _Ungraded:
    """A task whose answers are read and not graded: programs need not run in each process."""

    def __init__(self, task: Task) -> None:
        self.name, self.about = task.name, task.about
        if hasattr(task, "extract"):
            self.extract = task.extract

    def grade(self, item: Item, text: str) -> Grade:
        return Grade(correct=False, extracted=None)


def _deal(job: Job | None) -> Job | None:
    """Send what the first process gives to all; return it in each of them."""
    dealt = [job]
    dist.broadcast_object_list(dealt, src=0)
    return dealt[0]
