"""A desk: one engine with the tasks and methods that it was asked for."""

import importlib.metadata
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import transformers

from agentprim.config import VERSION
from agentprim.engine import Engine
from agentprim.evaluate.answer import answer
from agentprim.evaluate.job import Job, Registry


@dataclass(frozen=True, kw_only=True)
class Model:
    """How each worker loads its engine, or its two.

    Attributes:
        name: Hugging Face name or folder.
        expert: That of a second model, for teams of two; it is loaded in the same way.
        dtype, device, pool_tokens, device_map, tp_plan: As in `Engine.from_pretrained`.
    """

    name: str
    expert: str | None = None
    dtype: str | None = None
    device: str | None = None
    pool_tokens: int | None = None
    device_map: str | None = None
    tp_plan: str | None = None

    def load(self, device: str | None = None) -> Engine:
        """Load it; `device` stands in for one that was not named."""
        return Engine.from_pretrained(
            self.name, dtype=self.dtype, device=self.device or device,
            pool_tokens=self.pool_tokens, device_map=self.device_map, tp_plan=self.tp_plan,
        )  # fmt: skip


class Desk:
    """Answers jobs with one engine, and a second one where the model has an expert."""

    def __init__(
        self, model: Model, registry: Registry, *, device: str | None = None,
        load: Callable[[], Engine] | None = None,
    ) -> None:  # fmt: skip
        """Load what is to be loaded.

        Args:
            model: How.
            registry: Where tasks and methods are looked up.
            device: Stands in for one that the model does not name.
            load: Loads the first engine instead of `model.load`.
        """
        self._engine, self._registry = load() if load else model.load(device), registry
        self._expert, self._name = None, model.expert
        if model.expert is not None:
            self._expert = replace(model, name=model.expert, expert=None).load(device)
        self._tasks, self._methods = {}, {}

    def __call__(self, job: Job) -> list[dict]:
        """Answer a job; see `answer`."""
        if job.task not in self._tasks:
            self._tasks[job.task] = self._registry.task(job.task)
        if job.method not in self._methods:
            self._methods[job.method] = self._registry.method(job.method)
        task, method = self._tasks[job.task], self._methods[job.method]
        return answer(self._engine, task, method, job, self._expert)

    def facts(self) -> dict:
        """Say what answers: the models as they are now, on what, and versions."""
        model = _model(self._engine)
        if self._expert is not None:
            model["expert"] = {"name": self._name, **_model(self._expert)}
        return {
            "model": model,
            "versions": {
                "agentprim": VERSION, "torch": torch.__version__,
                "transformers": transformers.__version__, "python": platform.python_version(),
                "math-verify": _version("math-verify"),
            },
        }  # fmt: skip


def _model(engine: Engine) -> dict:
    device = torch.device(engine.device)
    return {
        "class": type(engine.model).__name__,
        "fingerprint": engine.shelf.fingerprint(),
        "revision": getattr(engine.model.config, "_commit_hash", None),
        "dtype": str(engine.model.dtype).removeprefix("torch."),
        "layers": engine.model.config.get_text_config().num_hidden_layers,
        "latent": engine.realigner.method,
        "pool_tokens": engine.pool.num_pages * engine.pool.page_size,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
