"""Time work on a GPU by replaying a CUDA graph of it, with nothing of its data in the L2 cache.

The host's launch time stays out. On a CPU, where only the path is tried, one call is timed.
"""

import statistics
import time
from collections.abc import Callable, Sequence

import torch


class Clock:
    """Time work on one device."""

    def __init__(self, device: str, repeats: int = 7) -> None:
        self.device = device
        self._repeats = repeats
        if device == "cuda":
            cached = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 2**26)
            self._other = torch.empty(4 * cached, dtype=torch.uint8, device=device)
            self._stream = torch.cuda.Stream()

    def microseconds(self, works: Sequence[Callable[[], object]]) -> float:
        """Return the median time of one piece of work, all of them captured in one graph.

        Pieces that touch different memory are cold each, however many there are; the more, the less
        does the launch of the graph weigh.
        """
        if self.device == "cpu":
            works = works[:2]
            begin = time.perf_counter()
            for work in works:
                work()
            return (time.perf_counter() - begin) * 1e6 / len(works)
        graph = self._capture(works)
        times = []
        for _ in range(self._repeats + 1):
            self._other.zero_()
            first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            graph.replay()
            second.record()
            second.synchronize()
            times.append(first.elapsed_time(second) * 1e3 / len(works))
        return statistics.median(times[1:])

    def host_microseconds(self, work: Callable[[], object]) -> float:
        """Return what one call costs the host, once all is compiled."""
        times = []
        for _ in range(5 if self.device == "cuda" else 1):
            begin = time.perf_counter()
            work()
            times.append((time.perf_counter() - begin) * 1e6)
        if self.device == "cuda":
            torch.cuda.synchronize()
        return statistics.median(times)

    def _capture(self, works: Sequence[Callable[[], object]]) -> torch.cuda.CUDAGraph:
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            for work in works:
                work()  # compiles: alignment of tables may differ
            self._stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            for work in works:
                work()
        return graph


def free_bytes(device: str) -> float:
    """Say how much memory may be taken."""
    return torch.cuda.mem_get_info()[0] if device == "cuda" else 1e9
