"""Settings: what is evaluated and how, and those of the two papers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentprim.evaluate.base import Limits


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a run answers.

    Attributes:
        tasks: Names of tasks.
        methods: Names of methods.
        limit: Most items a task, a sample stratified by group; None takes all.
        seed: Of the samples, and of all that is random in an answer.
        batch: Items answered at once.
        limits: What every method gets alike.
        data: Where the publisher's file of a task lies.
    """

    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    limit: int | None = None
    seed: int = 0
    batch: int = 16
    limits: Limits = field(default_factory=Limits)
    data: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check numbers and names."""
        for name in ("tasks", "methods"):
            given = getattr(self, name)
            if not given or len(set(given)) < len(given):
                raise ValueError(f"{name} must have names, each once, got {', '.join(given)!r}")
        for name, least in (("batch", 1), ("limit", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if self.limits.max_new_tokens < 1 or self.limits.steps < 0:
            raise ValueError(f"limits must have at least 1 token and 0 steps, got {self.limits}")
        if self.limits.inner not in ("latent", "text", "prefill"):
            raise ValueError(
                f"inner must be one of latent, text, prefill, got {self.limits.inner!r}"
            )


_SAMPLED = {"temperature": 0.6, "top_p": 0.95}
# 8 benchmarks in full and, where the paper is silent, the sampling that LatentMAS publishes; the
# second paper's 150 items a task with seed 42, decoded greedily
PRESETS = {
    "primitives": Setting(
        tasks=("aime24", "aime25", "math500", "gsm8k", "humaneval_plus", "mbpp_plus", "medqa",
               "gpqa_diamond"),
        methods=("single", "text_mas", "latent_mas", "review", "voting", "planning", "primitives",
                 "llm_debate", "self_refine", "quality_diversity", "spp", "agentverse", "gptswarm",
                 "dylan", "mas_gpt"),
        limits=Limits(max_new_tokens=4096, steps=40, **_SAMPLED),
    ),
    "lite": Setting(
        tasks=("math500", "mbpp_plus", "api_bank", "idrbench_i3"),
        methods=("single", "lite", "lite_control", "metagpt_control", "agentnet_control"),
        limit=150, seed=42, limits=Limits(max_new_tokens=2048),
    ),
}  # fmt: skip


def find_data(given: list[str], tasks: tuple[str, ...]) -> dict[str, Path]:
    """Read `name=path` and folders into the path of each task.

    In a folder, the file of a task is the one whose name begins with the task's, letters and digits
    compared alone.

    Raises:
        ValueError: A path is not there, names no task of the run, or several files fit one task.
    """
    found: dict[str, Path] = {}
    for one in given:
        name, _, path = one.rpartition("=")
        if not Path(path).exists():
            raise ValueError(f"data must be a path that is there, got {path!r}")
        if name:
            found[name] = Path(path)
        elif not Path(path).is_dir():
            raise ValueError(f"data must be a folder or name=path, got {one!r}")
        else:
            for task in tasks:
                fits = [p for p in sorted(Path(path).iterdir()) if _plain(p.name, task)]
                if len(fits) > 1:
                    raise ValueError(f"data must have one file for {task}, got {fits}")
                if fits:
                    found.setdefault(task, fits[0])
    unknown = sorted(set(found) - set(tasks))
    if unknown:
        raise ValueError(f"data must name tasks of this run, got {', '.join(unknown)}")
    return found


def _plain(file: str, task: str) -> bool:
    letters = ("".join(c for c in text.lower() if c.isalnum()) for text in (file, task))
    return next(letters).startswith(next(letters))
