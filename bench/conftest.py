"""Check first, then time, then say what share of a plain copy of the same bytes that is."""

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch

from agentprim_kernels.bench import Case
from agentprim_kernels.bench.timing import libc_copy, torch_copy

WARMUP = 2


def pytest_addoption(parser):
    parser.addoption("--threads", type=int, help="threads of torch and of the compiled ops")


@pytest.fixture(autouse=True, scope="session")
def _threads(request):
    if count := request.config.getoption("--threads"):
        torch.set_num_threads(count)


@contextmanager
def threads_of(count: int | None) -> Iterator[int]:
    """Use so many threads for a while; None leaves them as they are."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield count or before
    finally:
        torch.set_num_threads(before)


@pytest.fixture
def measure(benchmark):
    """Return a function that checks, times and records one piece of work."""

    def run(
        work: Callable[[], object],
        *,
        check: Callable[[], None],
        moved: int | None = None,
        rounds: int = 15,
        warmup: int = WARMUP,
        against: dict[str, Callable[[], object]] | None = None,
        **about: object,
    ) -> dict[str, float]:
        """Return median seconds: of `work` as `"work"`, and of each of `against`.

        Args:
            work: What to time.
            check: Compares what `work` does with the reference; called once, before timing.
            moved: Bytes that `work` must read and write at least; copies of them are timed too.
            rounds: Calls to time.
            warmup: Calls before.
            against: Other work, done before each round in turn, so that all meet the same
                machine. The time of `work` as a multiple of each is recorded.
            about: More to record.
        """
        check()
        others = dict(against or {})
        if moved is not None:
            others |= {"copy": torch_copy(moved),
                       "memcpy": libc_copy(moved, torch.get_num_threads())}  # fmt: skip
        times: dict[str, list[float]] = {name: [] for name in others}

        def before() -> None:
            for name, other in others.items():
                begun = time.perf_counter()
                other()
                times[name].append(time.perf_counter() - begun)

        benchmark.pedantic(work, setup=before, rounds=rounds, warmup_rounds=warmup)
        found = {name: statistics.median(row[warmup:]) for name, row in times.items()}
        seconds = benchmark.stats.stats.median
        benchmark.extra_info.update(about)
        if moved is not None:
            benchmark.extra_info["bytes_moved"] = moved
            benchmark.extra_info["gb_per_s"] = round(moved / seconds / 1e9, 2)
        for name, other in found.items():
            if name in ("copy", "memcpy"):
                benchmark.extra_info[f"share_of_{name}"] = round(other / seconds, 3)
            else:
                benchmark.extra_info[f"against_{name}"] = round(seconds / other, 3)
        return found | {"work": seconds}

    return run


@pytest.fixture
def measure_case(measure):
    """Return a function that measures one provider of a case."""

    def run(case: Case, provider: str, threads: int | None = None, **options) -> dict[str, float]:
        slow = provider != next(iter(case.providers))
        with threads_of(threads) as count, torch.no_grad():
            return measure(
                case.work(provider), check=lambda: case.check(provider), moved=case.moved,
                **{"rounds": 3 if slow else 11, "warmup": 1 if slow else WARMUP, **options},
                op=case.op, provider=provider, threads=count, **case.about,
            )  # fmt: skip

    return run


def pytest_benchmark_update_json(config, benchmarks, output_json):
    """Keep what describes the machine and the figures, nothing that names a host or a person."""
    cpu = output_json["machine_info"]["cpu"]
    revision = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    output_json["machine_info"] = {
        "cpu": cpu.get("brand_raw", "unknown"), "cores": cpu.get("count"),
        "torch": torch.__version__, "threads": torch.get_num_threads(),
    }  # fmt: skip
    output_json["commit_info"] = {"id": revision.stdout.strip()}
    for one in output_json["benchmarks"]:
        kept = ("min", "median", "iqr", "rounds")
        one["stats"] = {name: one["stats"][name] for name in kept}
        for name in ("options", "param", "fullname", "group"):
            one.pop(name, None)
