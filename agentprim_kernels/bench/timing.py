"""Time pieces of work in turn, and the copies that they are held against."""

import ctypes
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch


def seconds_of(
    *works: Callable[[], object],
    rounds: int,
    warmup: int = 2,
    limit: float = float("inf"),
    device: str = "cpu",
) -> list[float]:
    """Time several pieces of work in turn, so that all meet the same machine.

    Args:
        works: What to time.
        rounds: Calls of each.
        warmup: Calls of each before, not counted.
        limit: Seconds after which one piece of work is not called again.
        device: `"cpu"`, or `"cuda"`, where events on the current stream are timed.

    Returns:
        Median seconds of each.
    """
    once = _once_on_gpu if device == "cuda" else _once
    for _ in range(warmup):
        for work in works:
            work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for row, work in zip(times, works, strict=True):
            if not row or sum(row) < limit:
                row.append(once(work))
    return [statistics.median(row) for row in times]


def _once(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _once_on_gpu(work: Callable[[], object]) -> float:
    first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    work()
    second.record()
    second.synchronize()
    return first.elapsed_time(second) / 1e3


def torch_copy(moved: int, device: str = "cpu") -> Callable[[], object]:
    """Return torch's copy of contiguous bytes that reads and writes `moved` bytes together."""
    source = torch.zeros(moved // 2, dtype=torch.uint8, device=device)
    target = torch.zeros_like(source)
    return lambda: target.copy_(source)


def libc_copy(moved: int, threads: int) -> Callable[[], object]:
    """Return libc's memcpy that reads and writes `moved` bytes together, by some threads."""
    source = torch.zeros(moved // 2, dtype=torch.uint8)
    target = torch.zeros_like(source)
    memcpy = ctypes.CDLL(None).memcpy
    memcpy.argtypes, memcpy.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), None
    step = -(-len(source) // threads // 4096) * 4096
    parts = [
        (target.data_ptr() + at, source.data_ptr() + at, min(step, len(source) - at))
        for at in range(0, len(source), step)
    ]
    others = ThreadPoolExecutor(threads)

    def copy(_keep=(source, target)) -> None:
        waiting = [others.submit(memcpy, *part) for part in parts[1:]]
        memcpy(*parts[0])
        for one in waiting:
            one.result()

    return copy
