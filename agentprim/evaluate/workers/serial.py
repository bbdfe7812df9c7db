"""One worker: this process."""

from collections.abc import Callable, Iterable, Iterator

from agentprim.evaluate.job import Job, Registry
from agentprim.evaluate.workers.desk import Desk, Model


class Serial:
    """Answers jobs here, one after the other.

    Workers of every kind are made from a model and a registry and used in a `with`: `facts` says
    what answers, and a call yields each job with its rows as it is done. What order that is in
    differs; the rows do not.

    Attributes:
        facts: See `Desk.facts`.
    """

    def __init__(self, model: Model, registry: Registry, *, load: Callable | None = None) -> None:
        """Load the model; `load` does it instead of `model.load`."""
        self._desk = Desk(model, registry, load=load)
        self.facts = self._desk.facts()

    def __enter__(self) -> "Serial":
        return self

    def __exit__(self, *fault) -> None:
        pass

    def __call__(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, list[dict]]]:
        """Answer each job."""
        for job in jobs:
            yield job, self._desk(job)
