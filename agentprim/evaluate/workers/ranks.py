"""Ranks: one engine that several processes hold together, by tensor parallelism under torchrun."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch.distributed as dist

from agentprim.evaluate.base import Grade, Item, Task
from agentprim.evaluate.job import Job, Registry
from agentprim.evaluate.workers.desk import Desk, Model


class Ranks:
    """Answers jobs in step: the first process deals them out, and it alone has rows to write.

    The others `serve`. All of them compute the same, and end where they do not.

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
        self._desk, self._busy = Desk(model, registry, load=lambda: engine), False
        self.facts = self._desk.facts()
        rope = engine.pool.layout.rope
        self._agree("hold", [self.facts, None if rope is None else rope.max_position])

    def __enter__(self) -> "Ranks":
        return self

    def __exit__(self, *fault) -> None:
        if not self._busy:  # else others wait elsewhere, and end with this process
            if self.leads:
                _deal(None)
            dist.destroy_process_group()

    def __call__(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, list[dict]]]:
        """Answer each job; for the first process."""
        for job in jobs:
            yield job, self._answer(_deal(job))

    def serve(self) -> None:
        """Answer what the first process deals out, until there is no more; for all others."""
        while (job := _deal(None)) is not None:
            self._answer(job)

    def _answer(self, job: Job) -> list[dict]:
        self._busy = True
        rows = self._desk(job)
        self._agree("say", [row.get("text") for row in rows])
        self._busy = False
        return rows

    @staticmethod
    def _agree(verb: str, here: list) -> None:
        """Compare what the processes have.

        Raises:
            RuntimeError: They do not have the same.
        """
        found = [None] * dist.get_world_size()
        dist.all_gather_object(found, here)
        for other in found:
            for one, two in zip(found[0], other, strict=True):
                if one != two:
                    raise RuntimeError(f"processes must {verb} the same, got {one!r} and {two!r}")


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
