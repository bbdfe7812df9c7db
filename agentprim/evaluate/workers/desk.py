"""A desk: one engine with the tasks and methods that it was asked for."""

import importlib.metadata
import platform
from dataclasses import dataclass

import torch
import transformers

from agentprim.config import VERSION
from agentprim.engine import Engine
from agentprim.evaluate.answer import answer
from agentprim.evaluate.job import Job, Registry


@dataclass(frozen=True, kw_only=True)
class Model:
    """How each worker loads its engine.

    Attributes:
        name: Hugging Face name or folder.
        dtype, device, pool_tokens, device_map: As in `Engine.from_pretrained`.
    """

    name: str
    dtype: str | None = None
    device: str | None = None
    pool_tokens: int | None = None
    device_map: str | None = None

    def load(self, device: str | None = None) -> Engine:
        """Load it; `device` stands in for one that was not named."""
        return Engine.from_pretrained(
            self.name, dtype=self.dtype, device=self.device or device,
            pool_tokens=self.pool_tokens, device_map=self.device_map,
        )  # fmt: skip


class Desk:
    """Answers jobs with one engine."""

    def __init__(self, engine: Engine, registry: Registry) -> None:
        """Take the engine, and where tasks and methods are looked up."""
        self._engine, self._registry = engine, registry
        self._tasks, self._methods = {}, {}

    def __call__(self, job: Job) -> list[dict]:
        """Answer a job; see `answer`."""
        if job.task not in self._tasks:
            self._tasks[job.task] = self._registry.task(job.task)
        if job.method not in self._methods:
            self._methods[job.method] = self._registry.method(job.method)
        return answer(self._engine, self._tasks[job.task], self._methods[job.method], job)

    def facts(self) -> dict:
        """Say what answers: the model as it is now, on what, and versions."""
        engine = self._engine
        device = torch.device(engine.device)
        return {
            "model": {
                "class": type(engine.model).__name__,
                "fingerprint": engine.shelf.fingerprint(),
                "revision": getattr(engine.model.config, "_commit_hash", None),
                "dtype": str(engine.model.dtype).removeprefix("torch."),
                "layers": engine.model.config.get_text_config().num_hidden_layers,
                "latent": engine.realigner.method,
                "pool_tokens": engine.pool.num_pages * engine.pool.page_size,
                "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
            },
            "versions": {
                "agentprim": VERSION, "torch": torch.__version__,
                "transformers": transformers.__version__, "python": platform.python_version(),
                "math-verify": _version("math-verify"),
            },
        }  # fmt: skip


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
