"""Several workers on this machine, one engine a process."""

import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

import torch

from agentprim.evaluate.job import Job, Registry
from agentprim.evaluate.workers.desk import Desk, Model

# the one engine of a worker process; the executor gives its tasks no other place to keep it
_desk: list[Desk] = []


class Processes:
    """Answers jobs in processes of this machine; each takes a GPU of its own where there are some.

    Attributes:
        facts: See `Desk.facts`.
    """

    def __init__(self, model: Model, registry: Registry, count: int) -> None:
        """Start the processes and load the model in each.

        Raises:
            ValueError: `count` is less than 1, or more than there are GPUs where there are some.
        """
        if count < 1:
            raise ValueError(f"workers must be at least 1, got {count}")
        gpus = torch.cuda.device_count() if model.device in (None, "cuda") else 0
        if gpus and count > gpus:
            raise ValueError(f"workers must be at most the {gpus} GPUs, got {count}")
        context = multiprocessing.get_context("spawn")
        places = context.SimpleQueue()
        for number in range(count):
            places.put(f"cuda:{number}" if gpus else None)
        threads = max(1, torch.get_num_threads() // count)
        self._pool = ProcessPoolExecutor(
            count, mp_context=context, initializer=_begin,
            initargs=(model, registry, places, threads),
        )  # fmt: skip
        try:
            self.facts = self._pool.submit(_facts).result()
        except BaseException:
            self._pool.shutdown(cancel_futures=True)
            raise

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *fault) -> None:
        self._pool.shutdown(cancel_futures=True)

    def __call__(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, list[dict]]]:
        """Answer jobs as processes are free."""
        running = {self._pool.submit(_answer, job): job for job in jobs}
        for done in as_completed(running):
            yield running[done], done.result()


def _begin(model: Model, registry: Registry, places, threads: int) -> None:
    torch.set_num_threads(threads)
    _desk.append(Desk(model, registry, device=places.get()))


def _facts() -> dict:
    return _desk[0].facts()


def _answer(job: Job) -> list[dict]:
    return _desk[0](job)
