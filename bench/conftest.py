"""Check first, then time, then say what share of a plain copy of the same bytes that is."""

import statistics
import subprocess
import time
from collections.abc import Callable

import pytest
import torch


def pytest_addoption(parser):
    parser.addoption("--threads", type=int, help="threads of torch and of the compiled ops")


@pytest.fixture(autouse=True, scope="session")
def threads(request):
    if count := request.config.getoption("--threads"):
        torch.set_num_threads(count)


@pytest.fixture
def measure(benchmark):
    """Return a function that checks, times and records one piece of work."""

    def run(
        work: Callable[[], object],
        *,
        check: Callable[[], None],
        moved: int | None = None,
        rounds: int = 15,
        **about: object,
    ) -> float:
        """Return the median seconds of `work`, after `check` has not raised.

        Args:
            work: What to time.
            check: Compares what `work` does with the reference; called once, before timing.
            moved: Bytes that `work` must read and write at least.
            rounds: Calls to time.
            about: More to record.
        """
        check()
        benchmark.pedantic(work, rounds=rounds, warmup_rounds=2)
        seconds = benchmark.stats.stats.median
        benchmark.extra_info.update(about)
        if moved is not None:
            benchmark.extra_info["bytes_moved"] = moved
            benchmark.extra_info["gb_per_s"] = round(moved / seconds / 1e9, 2)
            benchmark.extra_info["share_of_copy"] = round(copy_seconds(moved, rounds) / seconds, 3)
        return seconds

    return run


def copy_seconds(moved: int, rounds: int) -> float:
    """Time a plain copy that reads and writes so many bytes together; return the median."""
    source = torch.zeros(moved // 2, dtype=torch.uint8)
    target = torch.empty_like(source)
    return seconds_of(lambda: target.copy_(source), rounds=rounds)[0]


def seconds_of(*works: Callable[[], object], rounds: int) -> list[float]:
    """Time several pieces of work in turn, so that all meet the same machine; return medians."""
    times: list[list[float]] = [[] for _ in works]
    for number in range(rounds + 2):
        for row, work in zip(times, works, strict=True):
            begun = time.perf_counter()
            work()
            if number >= 2:  # the first ones warm up
                row.append(time.perf_counter() - begun)
    return [statistics.median(row) for row in times]


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
