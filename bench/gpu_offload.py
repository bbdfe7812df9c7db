"""Section of `gpu_check`: park pages in host memory through a ring, check them, and time it.

Needs the compiled module with its CUDA part; says so where it is not there. A rate is given as a
share of a plain pinned transfer of the same bytes in the same direction, and what the copy costs
work on another stream as that work's time beside it over its time alone.
"""

import statistics
import time
from collections.abc import Callable, Iterator

import torch

import agentprim_kernels as ops
from agentprim_kernels.staging_ring import StagingRing

DEVICE = torch.device("cuda:0")
LAYERS, HEADS, DIM, PAGE_SIZE, DTYPE = 16, 8, 128, 16, torch.bfloat16
COPIES = {"pack": ops.pack_pages_, "unpack": ops.unpack_pages_}


def offload(quick: bool) -> Iterator[dict]:
    """Check round trips, then time them; or say why there is nothing to do."""
    if reason := StagingRing.why_not(DEVICE):
        yield {"skipped": f"no staging ring: {reason}"}
        return
    num_pages, blocks = (256, (8,)) if quick else (1024, (1, 2, 4, 8, 16, 32))
    yield {"checks": check_all(DEVICE)}
    yield from rates(num_pages, blocks)


def check_all(device: torch.device) -> int:
    """Send random pages there and back on a side stream behind slow work; return how many ways."""
    done = 0
    for dtype in (torch.bfloat16, torch.float32):
        for dim in (3, 4, 8, 64):  # units of 2 to 16 bytes
            for pinned in (False, True) if device.type == "cuda" else (False,):
                for stages, pages_each in ((1, 1), (2, 3), (4, 100)):
                    with side_stream(device):
                        round_trip(device, dtype, dim, pinned, stages, pages_each)
                    done += 1
    return done


def side_stream(device: torch.device):
    """Return a context in which work runs on a stream of its own."""
    return torch.cuda.stream(torch.cuda.Stream() if device.type == "cuda" else None)


def round_trip(
    device: torch.device, dtype: torch.dtype, dim: int, pinned: bool, stages: int, pages_each: int
) -> None:
    """Raise unless all pages come back, and no other page is touched."""
    source = torch.randn(3, 40, 2, 8, dim).to(dtype)
    page = source[:, 0].numel() * source.element_size()
    ring = StagingRing(device, stages=stages, stage_bytes=pages_each * page)
    pages = torch.randperm(40)[:25].int()
    packed = torch.full((25, 3, 2, 8, dim), torch.nan, dtype=dtype, pin_memory=pinned)
    cache, back = (torch.full_like(source, torch.nan, device=device) for _ in range(2))
    given = source.to(device)
    wait(device)  # the copies must wait for what comes behind it
    cache.copy_(given)
    ops.pack_pages_(packed, pages, cache, ring=ring)
    want = source[:, pages.long()].transpose(0, 1)
    assert torch.equal(packed, want), "packed pages differ"
    wait(device)
    ops.unpack_pages_(back, pages, packed, ring=ring)
    packed.zero_()
    seen = back.clone().cpu()  # the stream must wait for the copies
    assert torch.equal(seen[:, pages.long()].transpose(0, 1), want), "restored pages differ"
    seen[:, pages.long()] = torch.nan
    assert seen.isnan().all(), "a page was written that was not named"


def wait(device: torch.device) -> None:
    """Keep the current stream busy for about a millisecond."""
    if device.type == "cuda":
        torch.cuda._sleep(2_000_000)


def rates(num_pages: int, blocks: tuple[int, ...]) -> list[dict]:
    """Time both directions, to plain and to pinned host memory, for several grid sizes."""
    cache = torch.randn(LAYERS, 2 * num_pages, HEADS, PAGE_SIZE, DIM, dtype=DTYPE, device=DEVICE)
    pages = torch.randperm(2 * num_pages)[:num_pages].int()
    shape = (num_pages, LAYERS, HEADS, PAGE_SIZE, DIM)
    pinned, flat = torch.empty(shape, dtype=DTYPE, pin_memory=True), cache[:, :num_pages]
    flat = flat.reshape(-1).contiguous()
    plain = {
        "pack": seconds(lambda: pinned.view(-1).copy_(flat, non_blocking=True)),
        "unpack": seconds(lambda: flat.copy_(pinned.view(-1), non_blocking=True)),
    }
    rows = [row(f"plain {name}", pinned, time_, time_) for name, time_ in plain.items()]
    other = Busy()
    alone = other.milliseconds(lambda: None)
    for limit in blocks:
        ring = StagingRing(DEVICE, blocks=limit)
        for host in (torch.empty(shape, dtype=DTYPE), pinned):
            for name, copy in COPIES.items():
                ends = (host, pages, cache) if name == "pack" else (cache, pages, host)

                def work(copy=copy, ends=ends, ring=ring):
                    copy(*ends, ring=ring)

                rows.append(row(name, host, seconds(work), plain[name], blocks=limit,
                                beside=round(other.milliseconds(work) / alone, 3)))  # fmt: skip
    return rows


class Busy:
    """Work on a stream of its own that keeps every processor busy for a while."""

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()
        self.left, self.right = (
            torch.randn(4096, 4096, dtype=DTYPE, device=DEVICE) for _ in range(2)
        )
        self.out = torch.empty_like(self.left)

    def milliseconds(self, beside: Callable[[], object]) -> float:
        """Return the median time of the work while something else is done by the host."""
        times = []
        for _ in range(5):
            torch.cuda.synchronize()
            first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            with torch.cuda.stream(self.stream):
                first.record()
                for _ in range(200):
                    torch.mm(self.left, self.right, out=self.out)
                second.record()
            beside()
            second.synchronize()
            times.append(first.elapsed_time(second))
        return statistics.median(times)


def seconds(work: Callable[[], object]) -> float:
    """Return the median time from the call until the device has done it."""
    times = []
    for number in range(7):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        if number >= 2:
            times.append(time.perf_counter() - begun)
    return statistics.median(times)


def row(name: str, host: torch.Tensor, took: float, plain: float, **about) -> dict:
    """Describe one copy of the bytes of `host`."""
    return {
        "name": name, "pinned": host.is_pinned(), **about, "ms": round(took * 1e3, 3),
        "gb_per_s": round(host.nbytes / took / 1e9, 1), "share_of_plain": round(plain / took, 3),
    }  # fmt: skip
