"""Run an evaluation: every item once, whatever was done before, and no row lost."""

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentprim.engine.folder import write_whole
from agentprim.evaluate.base import Item, Method, Task
from agentprim.evaluate.header import header
from agentprim.evaluate.job import Job, Registry, batches
from agentprim.evaluate.setting import Setting
from agentprim.trust.journal import Journal

MISSING = "missing.json"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A setting with its items.

    Attributes:
        setting: The setting.
        tasks: Tasks with their items.
        methods: The methods.
        missing: Why tasks could not be loaded, by name.
    """

    setting: Setting
    tasks: tuple[tuple[Task, tuple[Item, ...]], ...]
    methods: tuple[Method, ...]
    missing: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Step:
    """What was done last.

    Attributes:
        job: The job; None before the first.
        rows: Its rows.
        done: Items done so far, those of earlier runs included.
        total: All items of all cells.
        earlier: Items that earlier runs did.
    """

    job: Job | None
    rows: list[dict]
    done: int
    total: int
    earlier: int


def load(setting: Setting, registry: Registry) -> Loaded:
    """Look everything up and load the items, before any model is loaded.

    A task whose data are not at hand is left out and said to be missing.

    Raises:
        ValueError: A name is unknown, or no task could be loaded.
    """
    methods = tuple(registry.method(name) for name in setting.methods)
    found, missing = [], {}
    for name in setting.tasks:
        task = registry.task(name)
        try:
            items = tuple(task.load(setting.data.get(name), setting.limit, setting.seed))
        except Exception as error:
            missing[name] = " ".join(str(error).split()) or type(error).__name__
            continue
        if len({item.id for item in items}) < len(items):
            raise ValueError(f"items of {name} must have ids of their own, got some twice")
        found.append((task, items))
    if not found:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
        raise ValueError(f"tasks must have data, got none; {reasons}")
    return Loaded(setting=setting, tasks=tuple(found), methods=methods, missing=missing)


def run(
    loaded: Loaded, workers, model: str, out: Path, *,
    report: Callable[[Step], None] | None = None, retry_failed: bool = False,
) -> None:  # fmt: skip
    """Answer what is not answered yet, and write each row as soon as it is there.

    `out` gets one journal for each task and method, `TASK.METHOD.jsonl`: a header, then one row an
    item. A run that was killed goes on with the same call. Where only a part of a batch is there,
    the rest runs as a smaller one. Beside them, `missing.json` says why tasks have no journal.

    Args:
        loaded: What to answer.
        workers: Who answers; see `Serial`.
        model: The model's name.
        out: Folder of the run; made if needed.
        report: Called with each `Step`.
        retry_failed: Try items again that failed.

    Raises:
        ValueError: A file in `out` is of another run, or another process writes there.
    """
    out.mkdir(parents=True, exist_ok=True)
    with _alone(out):
        journals = {
            (task.name, method.name): Journal(
                out / f"{task.name}.{method.name}.jsonl",
                header(workers.facts, model, loaded.setting, task, items, method), renew=False,
            )
            for task, items in loaded.tasks
            for method in loaded.methods
        }  # fmt: skip
        _tell_missing(out / MISSING, loaded)
        total = sum(len(items) for _, items in loaded.tasks) * len(loaded.methods)
        jobs = list(_jobs(loaded, journals, retry_failed))
        done = earlier = total - sum(len(job.items) for job in jobs)
        tell = report or (lambda step: None)
        tell(Step(job=None, rows=[], done=done, total=total, earlier=earlier))
        for job, rows in workers(jobs):
            journals[job.task, job.method].add(*rows)
            done += len(rows)
            tell(Step(job=job, rows=rows, done=done, total=total, earlier=earlier))


def _tell_missing(path: Path, loaded: Loaded) -> None:
    """Add why tasks could not be loaded to what earlier commands said, without those that now are.

    The file is there as a whole or not at all, since the next command reads it.
    """
    earlier = json.loads(path.read_text()) if path.exists() else {}
    here = {task.name for task, _ in loaded.tasks}
    left = {name: why for name, why in earlier.items() if name not in here}
    write_whole(path, json.dumps(left | loaded.missing, indent=1) + "\n")


def _jobs(loaded: Loaded, journals: dict, retry_failed: bool) -> Iterator[Job]:
    setting = loaded.setting
    for task, items in loaded.tasks:
        for method in loaded.methods:
            records = journals[task.name, method.name].records
            for batch in batches(items, setting.batch):
                left = tuple(
                    item for item in batch
                    if item.id not in records
                    or (retry_failed and "failed" in records[item.id])
                )  # fmt: skip
                if left:
                    yield Job(task=task.name, method=method.name, items=left,
                              limits=setting.limits, seed=setting.seed)  # fmt: skip


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Hold a folder for this process; the lock ends with the process, however that ends."""
    with (out / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ValueError(f"out must be free, got {out}, where another run writes") from error
        yield
