"""Many workers: a Ray cluster, one engine an actor, rows come back to the one that writes."""

from collections.abc import Iterable, Iterator

from agentprim.evaluate.job import Job, Registry
from agentprim.evaluate.workers.desk import Desk, Model


class Cluster:
    """Answers jobs on a Ray cluster: the one that `ray start` made, or one begun on this machine.

    Each actor holds one engine and takes one GPU where the cluster has some. One that dies is
    started again, twice; its job is then done again.

    Attributes:
        facts: See `Desk.facts`.
    """

    def __init__(self, model: Model, registry: Registry, count: int | None = None) -> None:
        """Start the actors and load the model in each.

        Args:
            model: How.
            registry: Where tasks and methods are looked up.
            count: Actors; None takes one a GPU, or two where there is none.

        Raises:
            ValueError: Ray is not installed, the cluster has too few GPUs, or the workers do not
                hold the same model and versions.
        """
        ray = self._ray = _import()
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(logging_level="ERROR", log_to_driver=False, include_dashboard=False)
        try:
            gpus = 0 if model.device == "cpu" else int(ray.cluster_resources().get("GPU", 0))
            count = count or gpus or 2
            if gpus and count > gpus:
                raise ValueError(f"workers must be at most the {gpus} GPUs, got {count}")
            actor = ray.remote(num_gpus=1 if gpus else 0, num_cpus=1, max_restarts=2,
                               max_task_retries=2)(_Actor)  # fmt: skip
            self._actors = [actor.remote(model, registry) for _ in range(count)]
            found = ray.get([one.facts.remote() for one in self._actors])
            if any(one != found[0] for one in found):
                raise ValueError(f"workers must have the same model and versions, got {found}")
        except BaseException:
            self.__exit__()
            raise
        self.facts = found[0]

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *fault) -> None:
        for one in getattr(self, "_actors", []):
            self._ray.kill(one)
        if self._own:
            self._ray.shutdown()

    def __call__(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, list[dict]]]:
        """Answer jobs as actors are free."""
        waiting, running = iter(jobs), {}
        for one in self._actors:
            self._next(one, waiting, running)
        while running:
            done, _ = self._ray.wait(list(running))
            one, job = running.pop(done[0])
            rows = self._ray.get(done[0])
            self._next(one, waiting, running)
            yield job, rows

    def _next(self, one, waiting: Iterator[Job], running: dict) -> None:
        job = next(waiting, None)
        if job is not None:
            running[one.answer.remote(job)] = one, job


class _Actor:
    """What runs in another process."""

    def __init__(self, model: Model, registry: Registry) -> None:
        self._desk = Desk(model, registry)

    def facts(self) -> dict:
        return self._desk.facts()

    def answer(self, job: Job) -> list[dict]:
        return self._desk(job)


def _import():
    try:
        import ray
    except ImportError as error:
        raise ValueError(
            "ray must be installed for --ray, got no module; pip install 'agentprim[ray]'"
        ) from error
    return ray
