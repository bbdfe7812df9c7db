"""The header of a file of rows: all that decides whether they may stand beside others."""

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path

import agentprim.config
from agentprim.evaluate.answer import answer
from agentprim.evaluate.base import Item, Method, Task
from agentprim.evaluate.setting import Setting
from agentprim.evaluate.sources import source_digest

FORMAT = 1
_PROMPTS = ("**/*prompt*.py", "**/*.jinja", "**/*.md", "**/*.txt", "**/*.json", "**/*.jsonl")


def header(
    facts: dict, model: str, setting: Setting, task: Task, items: Sequence[Item], method: Method
) -> dict:
    """Describe the rows of one task and one method.

    Args:
        facts: Of the workers: the model and versions.
        model: The name that was asked for.
        setting: Of the run.
        task: The task.
        items: Its items, in order.
        method: The method.

    Returns:
        A JSON-serialisable dictionary. Two runs with the same header give the same rows, as far as
        nothing changed that it tells by a version alone: the engine, the cache and all below them,
        which are those of `agentprim`, and other packages. Nor does it tell apart devices of one
        kind, or threads.
    """
    data = setting.data.get(task.name)
    return {
        "format": FORMAT,
        "model": {"name": model, **facts["model"]},
        "versions": facts["versions"],
        "task": {
            "name": task.name, "about": task.about, "n": len(items),
            "source": source_digest(task),
            "items": digest([[i.id, i.question, i.answer, i.group, i.more] for i in items]),
            "data": None if data is None else {"name": data.name, "sha256": file_digest(data)},
        },
        "method": {
            "name": method.name, "about": method.about, "twin": getattr(method, "twin", None),
            "source": source_digest(method),
            "options": digest(vars(method) if is_dataclass(method) else {}),
        },
        "answering": source_digest(answer),
        "prompts": prompts_digest(),
        "limits": asdict(setting.limits), "limit": setting.limit, "seed": setting.seed,
        "batch": setting.batch,
    }  # fmt: skip


def digest(value) -> str:
    """Digest something JSON-serialisable; dataclasses count by fields, other things by class."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=_told)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Digest a file, or all files of a folder with their names."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    files = sorted(one for one in path.rglob("*") if one.is_file())
    return digest([[str(one.relative_to(path)), file_digest(one)] for one in files])


def _told(value: object) -> str:
    """Say what a thing is, in words that hold no address and so are the same in every process."""
    return repr(value) if is_dataclass(value) else type(value).__qualname__


@functools.cache
def prompts_digest() -> str:
    """Digest all prompts and templates of the package."""
    root = Path(agentprim.config.__file__).parent
    files = sorted({path for pattern in _PROMPTS for path in root.glob(pattern)})
    return digest([[str(path.relative_to(root)), file_digest(path)] for path in files])
