"""`agentprim eval`: methods against tasks, resumable, one row an item."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import torch.distributed as dist
import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from agentprim.cli.listing import show
from agentprim.cli.load import load as load_engine
from agentprim.cli.options import Debug, Model
from agentprim.cli.progress import Progress as Spinner
from agentprim.cli.quiet import quiet
from agentprim.evaluate.base import Method
from agentprim.evaluate.find import REGISTRY
from agentprim.evaluate.run import Step, load, run
from agentprim.evaluate.setting import PRESETS, Setting, find_data
from agentprim.evaluate.workers.cluster import Cluster
from agentprim.evaluate.workers.desk import Model as HowToLoad
from agentprim.evaluate.workers.processes import Processes
from agentprim.evaluate.workers.ranks import Ranks
from agentprim.evaluate.workers.serial import Serial

_EVERY = 15.0  # seconds between lines where there is no terminal


def evaluate(
    out: Annotated[Path, typer.Option(help="Folder of the run; the same command goes on there.")],
    model: Model = "smollm2",
    expert_model: Annotated[
        str | None, typer.Option(help="Model B of teams of two models, such as lite_aba.")
    ] = None,
    tasks: Annotated[str, typer.Option(help="Names with commas between them.")] = "",
    methods: Annotated[str, typer.Option(help="Names with commas between them.")] = "",
    preset: Annotated[
        str, typer.Option(help=f"Protocol of a paper: {', '.join(PRESETS)}; options change it.")
    ] = "",
    limit: Annotated[int | None, typer.Option(help="Most items a task, stratified.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of samples and answers. Default 0.")] = None,
    batch: Annotated[int | None, typer.Option(help="Items at once. Default 16.")] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="A folder, or TASK=PATH; may be given again.")
    ] = None,
    max_new_tokens: Annotated[int | None, typer.Option(help="Of one decoded answer.")] = None,
    steps: Annotated[int | None, typer.Option(help="Latent steps of an inner agent.")] = None,
    inner: Annotated[str | None, typer.Option(help="latent, text or prefill.")] = None,
    temperature: Annotated[float | None, typer.Option(help="0 is greedy.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Of sampling.")] = None,
    pool_tokens: Annotated[int | None, typer.Option(help="Tokens that all caches hold.")] = None,
    dtype: Annotated[str | None, typer.Option(help="For example bfloat16.")] = None,
    device: Annotated[str | None, typer.Option(help="Default: a GPU if there is one.")] = None,
    device_map: Annotated[
        str | None, typer.Option(help="'auto': spread one model over the GPUs of this machine.")
    ] = None,
    tp_plan: Annotated[
        str | None, typer.Option(help="'auto': tensor parallelism, under torchrun.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Engines, each a process.")] = None,
    ray: Annotated[bool, typer.Option("--ray", help="Workers on a Ray cluster.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed items again.")
    ] = False,
    list_: Annotated[
        bool,
        typer.Option("--list", help="Show all tasks and methods.", callback=show, is_eager=True),
    ] = False,
    debug: Debug = False,
) -> None:
    """Answer and grade the items of tasks by each method; a killed run goes on where it was."""
    limits = {
        "max_new_tokens": max_new_tokens, "steps": steps, "inner": inner,
        "temperature": temperature, "top_p": top_p,
    }  # fmt: skip
    given = {"limit": limit, "seed": seed, "batch": batch, **_names(tasks=tasks, methods=methods)}
    setting = settle(preset, given, limits, data or [])
    _check([REGISTRY.method(name) for name in setting.methods], expert_model)
    loaded = load(setting, REGISTRY)
    if _first():
        for name, reason in loaded.missing.items():
            print(f"agentprim: {name} is left out: {reason}", file=sys.stderr)
    how = HowToLoad(name=model, expert=expert_model, dtype=dtype, device=device,
                    pool_tokens=pool_tokens, device_map=device_map, tp_plan=tp_plan)  # fmt: skip
    with Spinner(lines=True) as spinner, quiet():
        team = _team(how, workers, ray, spinner)
    if tp_plan is not None and not team.leads:
        with team, quiet():
            return team.serve()
    with team, Rates() as rates, quiet():  # rates take stderr before it is silenced
        run(loaded, team, model, out, report=rates, retry_failed=retry_failed)
    print(out)


def settle(preset: str, given: dict, limits: dict, data: list[str]) -> Setting:
    """Put options over a preset.

    Raises:
        ValueError: The preset is unknown, or tasks or methods are missing.
    """
    if preset and preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    given = {name: value for name, value in given.items() if value is not None}
    limits = {name: value for name, value in limits.items() if value is not None}
    base = PRESETS[preset] if preset else Setting(tasks=("?",), methods=("?",))
    for name in ("tasks", "methods"):
        if not preset and name not in given:
            raise ValueError(f"{name} must have names without a preset, got none")
    setting = replace(base, **given, limits=replace(base.limits, **limits))
    return replace(setting, data=find_data(data, setting.tasks))


def _check(methods: Sequence[Method], expert: str | None) -> None:
    """Hold a second model against the methods that take one."""
    taking = [one.name for one in methods if getattr(one, "takes_expert", False)]
    if taking and expert is None:
        raise ValueError(f"expert_model must be given for {', '.join(taking)}, got none")
    if expert is not None and not taking:
        names = ", ".join(one.name for one in methods)
        raise ValueError(f"expert_model must have a method that takes one, got {names}")


def _names(**lists: str) -> dict[str, tuple[str, ...] | None]:
    return {
        name: tuple(one.strip() for one in text.split(",") if one.strip()) or None
        for name, text in lists.items()
    }


def _team(how: HowToLoad, workers: int | None, ray: bool, spinner: Spinner):
    if how.tp_plan is not None:
        if ray or workers is not None:
            raise ValueError("workers and ray must not be given with tp_plan")
        if _first():
            spinner(f"loads {how.name}")
        return Ranks(how, REGISTRY)
    if ray:
        spinner("starts workers on the cluster")
        return Cluster(how, REGISTRY, workers)
    if workers is not None and workers != 1:
        spinner(f"starts {workers} workers")
        return Processes(how, REGISTRY, workers)
    plain = how == HowToLoad(name=how.name, expert=how.expert, pool_tokens=how.pool_tokens)
    if plain:
        return Serial(
            how, REGISTRY, load=lambda: load_engine(how.name, spinner, how.pool_tokens)[0]
        )
    spinner(f"loads {how.name}")
    return Serial(how, REGISTRY)


def _first() -> bool:
    """Tell whether this is the process that speaks for all of its machine."""
    return not dist.is_available() or dist.get_node_local_rank(0) == 0


class Rates:
    """Progress with rates and the time left; lines now and then where there is no terminal."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Prepare it; `clock` tells seconds."""
        console = Console(file=sys.stderr)
        self._clock, self._plain = clock, None if console.is_terminal else console
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(), TextColumn("{task.fields[rates]}"), console=console,
            transient=True, disable=not console.is_terminal, redirect_stdout=False,
            redirect_stderr=False,
        )  # fmt: skip
        self._id, self._begun, self._said = None, 0.0, 0.0
        self._tokens = self._failed = 0

    def __enter__(self) -> "Rates":
        self._bar.start()
        return self

    def __exit__(self, *fault) -> None:
        self._bar.stop()

    def __call__(self, step: Step) -> None:
        """Show what was done."""
        now = self._clock()
        if step.job is None:
            self._begun = self._said = now
            self._id = self._bar.add_task("starts", total=step.total, rates="")
            name = f"{step.earlier} of {step.total} items are there" if step.earlier else "starts"
        else:
            name = f"{step.job.task} {step.job.method}"
        for row in step.rows:
            cost = row.get("usage", {}).get("total", {})
            self._tokens += cost.get("decoded", 0) + cost.get("latent", 0)
            self._failed += "failed" in row
        rates = self.rates(step, now - self._begun)
        self._bar.update(self._id, completed=step.done, description=name, rates=rates)
        ends = step.job is None or step.done == step.total or now - self._said >= _EVERY
        if self._plain is not None and ends:
            self._said = now
            line = f"{name}: {step.done} of {step.total}  {rates}".rstrip()
            self._plain.print(line, highlight=False, markup=False, soft_wrap=True)

    def rates(self, step: Step, seconds: float) -> str:
        """Say how fast it goes, how long it will take and what failed."""
        new = step.done - step.earlier
        if not new or seconds <= 0:
            return ""
        left = (step.total - step.done) * seconds / new
        failed = f", {self._failed} failed" if self._failed else ""
        return (
            f"{60 * new / seconds:.1f} items/min, {self._tokens / seconds:.0f} tokens/s, "
            f"{_time(left)} left{failed}"
        )


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
