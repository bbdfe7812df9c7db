"""Answer a job: a batch that raises is tried in halves, and no item is lost."""

import time
from dataclasses import asdict

import torch

from agentprim.agent.aloud import aloud
from agentprim.engine import Engine, Output
from agentprim.engine.shards import is_lone
from agentprim.evaluate.base import Extract, Item, Method, Task
from agentprim.evaluate.job import Job, ask, material, seed_of
from agentprim.workflow.lite.detection import looks


def answer(
    engine: Engine, task: Task, method: Method, job: Job, expert: Engine | None = None
) -> list[dict]:
    """Answer and grade the items of a job.

    Args:
        engine: The model.
        task: Grades the answers.
        method: Gives them.
        job: The items.
        expert: The second model, for methods that take one.

    Returns:
        One JSON-serialisable row an item, in order. A row with `"failed"` has no answer, or no
        grade, and says why.
    """
    try:
        return _batch(engine, task, method, job, expert)
    except Exception as error:
        if is_lone(error):
            raise
        fault = f"{type(error).__name__}: {' '.join(str(error).split())}"
    # here nothing holds the frames of the fault any longer, and so none of their pages
    if len(job.items) == 1:
        return [{**_about(job, job.items[0]), "failed": fault}]
    return [row for one in job.halves() for row in answer(engine, task, method, one, expert)]


def _batch(
    engine: Engine, task: Task, method: Method, job: Job, expert: Engine | None
) -> list[dict]:
    seeds = [seed_of(job.seed, job.task, item) for item in job.items]
    if getattr(method, "takes_material", False):
        given = [ask(item) for item in job.items]
        more = {"materials": [material(item) for item in job.items]}
    else:
        given, more = [item.question for item in job.items], {}
    if getattr(method, "takes_extracts", False) and hasattr(task, "extract"):
        more["extracts"] = [_extract(task, item) for item in job.items]
    pools = [engine.pool]
    if getattr(method, "takes_expert", False) and expert is not None:
        more["expert"] = expert
        pools.append(expert.pool)
    for pool in pools:
        pool.peak_pages = 0
    begun = time.perf_counter()
    outputs = method(engine, given, job.limits, seeds, **more)
    seconds = (time.perf_counter() - begun) / len(job.items)
    if len(outputs) != len(job.items):
        raise RuntimeError(f"{job.method} must answer {len(job.items)} items, got {len(outputs)}")
    peak = sum(pool.peak_pages * pool.page_size for pool in pools)
    shared = {"batch": len(job.items), "pool_tokens": peak, "threads": torch.get_num_threads()}
    return [
        {
            **_about(job, item), **_answered(out), **_graded(task, item, str(out)),
            "seconds": seconds, **shared,
        }
        for item, out in zip(job.items, outputs, strict=True)
    ]  # fmt: skip


def _about(job: Job, item: Item) -> dict:
    return {"key": item.id, "group": item.group, "seed": seed_of(job.seed, job.task, item)}


def _answered(out: Output) -> dict:
    roles = {name: _nonzero(cost) for name, cost in out.usage.to_dict().items()}
    usage = {"total": _nonzero(out.usage.total.to_dict()), "roles": roles}
    return {"text": str(out), "finish": out.finish, "usage": usage, "trace": summary(out)}


def _nonzero(cost: dict) -> dict:
    return {name: value for name, value in cost.items() if value}


def _extract(task: Task, item: Item) -> Extract:
    return lambda text: task.extract(item, aloud(text))


def _graded(task: Task, item: Item, text: str) -> dict:
    try:
        grade = task.grade(item, aloud(text))
        scores = {name: float(value) for name, value in grade.scores.items()}
        return {
            "correct": bool(grade.correct), "extracted": grade.extracted, "reason": grade.reason,
            "scores": scores,
        }  # fmt: skip
    except Exception as error:
        return {"failed": f"grading: {type(error).__name__}: {' '.join(str(error).split())}"}


def summary(out: Output) -> dict:
    """Summarise a trace: events by kind, hand-overs and what they carried, decisions, screening."""
    kinds: dict[str, int] = {}
    for event in out.trace:
        kinds[event.kind] = kinds.get(event.kind, 0) + 1
    handed = [event.detail for event in out.trace if event.kind == "handover"]
    screened = looks(out)
    return {
        "events": kinds, "handovers": len(handed),
        "handed_tokens": sum(detail.get("tokens", 0) for detail in handed),
        "joins": sorted({str(detail.get("join", "")) for detail in handed}),
        "decisions": out.usage.decision_calls,
        **({} if screened is None else {"detection": asdict(screened)}),
    }  # fmt: skip
