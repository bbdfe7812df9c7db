"""Verify a model: prove its rotation, check the machinery, measure the approximation."""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import transformers

from agentprim.config import VERSION
from agentprim.engine import Engine
from agentprim.engine.certificate import Certificate
from agentprim.engine.certificates import folder, path_of, save
from agentprim.errors import UnsupportedModel, VerificationFailed
from agentprim.trust.items import make_item
from agentprim.trust.journal import Journal
from agentprim.trust.lab import Lab
from agentprim.trust.machinery import Machinery, check_machinery
from agentprim.trust.measure import Task, measure
from agentprim.trust.plan import full_plan, quick_plan
from agentprim.trust.rope_kinds import rope_kinds
from agentprim.trust.stats import share_right, summarise

_REVISION = 2  # of the items and of what is measured: older journals are begun anew
Report = Callable[[int, int], None]


def verify(
    engine: Engine,
    full: bool = False,
    progress: Report | None = None,
    *,
    out: str | Path | None = None,
    seed: int = 0,
    plan: list[Task] | None = None,
) -> Certificate:
    """Certify a model, or refuse it; `engine.certificate` finds the result from then on.

    Three parts: what the probe proved about the rotation; a query on joined caches against one
    plain forward pass in which the parts cannot see each other; and, on notes and questions made
    from a seed, how near each way of handing over comes to reading everything again. The quick
    version takes minutes for a small model on a CPU, the full one less than an hour.

    Args:
        engine: The model; without a tokenizer the last part is left out.
        full: Measure 100 items and a receiver's prompt of 2,000 tokens, too.
        progress: Called as `progress(done, total)` after each item.
        out: Journal of finished items, by which a run that was stopped goes on. Default: a file
            beside the certificates, removed at the end.
        seed: Of the items.
        plan: What to measure instead.

    Returns:
        The certificate; it is stored, but a quick one never replaces a full one.

    Raises:
        VerificationFailed: A joined cache is not read as rounding explains; a stored certificate
            is withdrawn.
    """
    begun, fingerprint = time.perf_counter(), engine.shelf.fingerprint()
    layout = engine.pool.layout
    try:
        machinery = check_machinery(engine)
    except VerificationFailed:
        path_of(fingerprint).unlink(missing_ok=True)
        raise
    records, tokens, note = [], 0, _why_not(engine, layout)
    if note is None:
        tasks = plan if plan is not None else full_plan() if full else quick_plan()
        path = Path(out) if out else folder() / f"{fingerprint[:32]}.{_kind(full)}.jsonl"
        journal = Journal(path, _about(fingerprint, seed, tasks))
        records = _measure_all(engine, tasks, journal, seed, progress)
        tokens = sum(record["tokens"] for record in records)
    certificate = Certificate(
        model=Path(str(getattr(engine.model.config, "_name_or_path", "") or "")).name,
        model_class=layout.model_class, dtype=str(layout.shapes[0].dtype).removeprefix("torch."),
        device=engine.device.type, fingerprint=fingerprint, version=VERSION,
        transformers=transformers.__version__,
        refusal=str(layout.refusal) if layout.rope is None else None,
        max_delta=layout.rope.max_delta if layout.rope else 0,
        max_position=layout.rope.max_position if layout.rope else 0,
        rope=rope_kinds(engine.model, layout), **_flat(machinery),
        fidelity=summarise(records), fidelity_note=note or _covered(records), full=full,
        items=sum(r["senders"] == 1 and bool(r["rows"]) for r in records),
        right=share_right(records),
        tokens=tokens, seconds=sum(r["seconds"] for r in records) or time.perf_counter() - begun,
    )  # fmt: skip
    stored = engine.certificate
    if full or stored is None or not stored.full:
        save(certificate)
    if note is None and not out:
        journal.path.unlink(missing_ok=True)
    return certificate


def _measure_all(
    engine: Engine, tasks: list[Task], journal: Journal, seed: int, progress: Report | None
) -> list[dict]:
    """Measure what the journal does not have yet; return all records in the order of the plan."""
    lab = Lab(engine)
    for number, task in enumerate(tasks):
        if task.key not in journal.records:
            begun, before = time.perf_counter(), lab.tokens
            rows, skipped = [], None
            try:
                rows = measure(lab, make_item(task.index, task.senders, seed=seed), task)
            except UnsupportedModel as error:  # longer than what is proved of this model
                skipped = str(error)
            journal.add(
                {"key": task.key, "senders": task.senders, "tokens": lab.tokens - before,
                 "seconds": time.perf_counter() - begun, "rows": rows, "skipped": skipped}
            )  # fmt: skip
        if progress is not None:
            progress(number + 1, len(tasks))
    return [journal.records[task.key] for task in tasks]


def _why_not(engine: Engine, layout) -> str | None:
    if layout.rope is None:
        return f"not measured: {layout.refusal}"
    return "not measured: the engine has no tokenizer" if engine.tokenizer is None else None


def _covered(records: list[dict]) -> str:
    """Say what was measured, and how many items were left out, and why."""
    left_out = [record["skipped"] for record in records if record.get("skipped")]
    if not left_out:
        return "measured"
    some = "measured" if len(left_out) < len(records) else "not measured"
    return f"{some}; {len(left_out)} of {len(records)} tasks were left out: {left_out[0]}"


def _about(fingerprint: str, seed: int, tasks: list[Task]) -> dict:
    plan = [{**asdict(task), "lengths": list(task.lengths)} for task in tasks]
    return {"revision": _REVISION, "fingerprint": fingerprint, "seed": seed, "plan": plan}


def _flat(machinery: Machinery) -> dict:
    return {
        "machinery": machinery.errors, "machinery_budget": machinery.budget,
        "machinery_note": machinery.note,
    }  # fmt: skip


def _kind(full: bool) -> str:
    return "full" if full else "quick"
