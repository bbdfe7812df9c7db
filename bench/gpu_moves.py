"""Sections of `gpu_check`: ops that move keys and values, all layers in one call.

Each is given as a share of a plain copy of the same bytes (read and written), taken by the same
clock in the same run.
"""

import functools
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

import agentprim_kernels as ops
from agentprim_kernels.triton import attend, materialize, merge, rotate, select, store
from bench.gpu_clock import Clock, free_bytes

SHAPES = ((16, 8, 64), (36, 8, 128), (80, 8, 128))  # layers, KV heads, dims
TOKENS = (1, 64, 512, 4096, 32768)
FEW_TOKENS = (1, 2, 4, 8)
TINY_SHAPES, TINY_TOKENS = ((2, 2, 16),), (1, 20)
PAGE_SIZE, DTYPE = 16, torch.bfloat16
MOST_COPIES = 16  # of work that is too short to be timed alone
LAUNCHERS = (attend, materialize, merge, rotate, select, store)
Works = list[Callable[[], object]]


class Bench:
    """Two pools of one shape, and every op on runs of tokens in scattered pages of the first."""

    def __init__(self, shape: tuple[int, int, int], tokens: int, device: str) -> None:
        self.layers, self.heads, self.dim = shape
        self.device, self.tokens = device, tokens
        self.pages = -(-tokens // PAGE_SIZE)
        size = (2, self.layers, self.pages, self.heads, PAGE_SIZE, self.dim)
        self.kept = torch.empty(size, dtype=DTYPE, device=device).normal_()
        self.out = torch.empty_like(self.kept).normal_()
        self.table = torch.randperm(self.pages, device=device).int()
        frequencies = 1e6 ** (-torch.arange(0, self.dim, 2, device=device) / self.dim)
        self.turn = ops.rotation([37], frequencies.expand(self.layers, -1))

    @staticmethod
    def bytes_needed(shape: tuple[int, int, int], tokens: int) -> int:
        """Return the memory of a bench."""
        layers, heads, dim = shape
        return 4 * layers * heads * dim * -(-tokens // PAGE_SIZE) * PAGE_SIZE * DTYPE.itemsize

    def moved(self, name: str, tokens: int) -> int:
        """Return bytes read and written by an op."""
        row = self.layers * self.heads * self.dim * DTYPE.itemsize
        return 2 * row * tokens * (1 if name.startswith("rotate") else 2)

    def works(self, tokens: int) -> Iterator[tuple[str, Works]]:
        """Yield each op's name and calls, each call on memory of its own while there is enough."""
        pages = -(-tokens // PAGE_SIZE)
        copies = min(MOST_COPIES, self.pages // pages) if tokens <= 512 else 1
        starts = [n * pages for n in range(copies)]
        for name, op in {
            "rotate": self.rotate, "rotate adjacent pairs": self.rotate_pairs,
            "materialize": self.materialize, "select": self.select, "store": self.store,
        }.items():  # fmt: skip
            yield name, [op(first, pages, tokens) for first in starts]

    def copy(self, name: str, tokens: int) -> Works:
        """Return plain copies that read and write as many bytes as an op."""
        count = self.moved(name, tokens) // 2 // DTYPE.itemsize
        source, out = self.kept.view(-1), self.out.view(-1)
        copies = max(1, min(MOST_COPIES if tokens <= 512 else 1, source.numel() // count))
        spread = source.numel() // copies // 8 * 8  # far apart, 16-byte aligned
        parts = [slice(n * spread, n * spread + count) for n in range(copies)]
        return [functools.partial(out[part].copy_, source[part]) for part in parts]

    def spans(self, tokens: int) -> Tensor:
        return torch.tensor([[0, 0, tokens, 0, -1]], dtype=torch.int32, device=self.device)

    def rotate(self, first: int, pages: int, tokens: int, pairs: bool = False) -> Callable:
        table = self.table[first : first + pages]
        return functools.partial(
            ops.rotate_, self.kept[0], table, self.spans(tokens), self.turn, interleaved=pairs,
            impl="triton",
        )  # fmt: skip

    def rotate_pairs(self, first: int, pages: int, tokens: int) -> Callable:
        return self.rotate(first, pages, tokens, pairs=True)

    def slots(self, first: int, tokens: int) -> Tensor:
        return first * PAGE_SIZE + torch.arange(tokens, device=self.device)

    def materialize(self, first: int, pages: int, tokens: int) -> Callable:
        table = self.table[first : first + pages]
        return functools.partial(
            ops.materialize_, *self.out, self.slots(first, tokens), *self.kept, table,
            self.spans(tokens), self.turn, impl="triton",
        )  # fmt: skip

    def select(self, first: int, pages: int, tokens: int) -> Callable:
        """Take tokens of any slots to slots in order."""
        source = first * PAGE_SIZE + torch.randperm(pages * PAGE_SIZE, device=self.device)[:tokens]
        rows = torch.zeros(tokens, dtype=torch.int32, device=self.device)
        return functools.partial(
            ops.select_, *self.out, self.slots(first, tokens), *self.kept, source, rows, self.turn,
            impl="triton",
        )  # fmt: skip

    def store(self, first: int, pages: int, tokens: int) -> Callable:
        """Store tokens laid out as the model computes them: `[layers, 1, heads, tokens, dim]`."""
        row = self.layers * self.heads * self.dim
        begin = first * PAGE_SIZE * row
        shape = (self.layers, 1, tokens, self.heads, self.dim)
        keys, values = (
            part.view(-1)[begin : begin + tokens * row].view(shape).transpose(2, 3)
            for part in self.out
        )
        slots = self.slots(first, tokens)[None]
        return functools.partial(ops.store_, *self.kept, slots, keys, values, impl="triton")


def benches(clock: Clock, shapes, tokens: int) -> Iterator[tuple[Bench, int]]:
    """Yield a bench for each shape, and the number of tokens for which there was memory."""
    for shape in shapes:
        most = tokens
        while most > 64 and Bench.bytes_needed(shape, most) > 0.8 * free_bytes(clock.device):
            most //= 2
        yield Bench(shape, max(most, MOST_COPIES * PAGE_SIZE), clock.device), most


def launches(work: Callable[[], object]) -> int:
    """Count the kernels of one call."""
    count, saved = 0, [module.launch for module in LAUNCHERS]

    def counted(*args, _run=saved[0], **options):
        nonlocal count
        count += 1
        return _run(*args, **options)

    for module in LAUNCHERS:
        module.launch = counted
    try:
        work()
    finally:
        for module, launch in zip(LAUNCHERS, saved, strict=True):
            module.launch = launch
    return count


def moves(clock: Clock, shapes=SHAPES, tokens=TOKENS) -> Iterator[dict]:
    """Time each op for each shape and number of tokens, and a copy beside it."""
    for bench, most in benches(clock, shapes, max(tokens)):
        for number in (count for count in tokens if count <= most):
            for name, works in bench.works(number):
                moved = bench.moved(name, number)
                took = clock.microseconds(works)
                copied = clock.microseconds(bench.copy(name, number))
                yield {
                    "op": name, "layers": bench.layers, "kv_heads": bench.heads,
                    "dim": bench.dim, "tokens": number, "microseconds": round(took, 2),
                    "copy_microseconds": round(copied, 2),
                    "gb_per_s": round(moved / took / 1e3, 1),
                    "share_of_copy": round(copied / took, 3),
                }  # fmt: skip


def few_tokens(clock: Clock, shapes=SHAPES, tokens=FEW_TOKENS) -> Iterator[dict]:
    """Time a hand-over of a few tokens inside a graph, and what a call costs the host."""
    for bench, _ in benches(clock, shapes, max(tokens)):
        for number in tokens:
            for name, works in bench.works(number):
                yield {
                    "op": name, "layers": bench.layers, "kv_heads": bench.heads,
                    "dim": bench.dim, "tokens": number,
                    "microseconds": round(clock.microseconds(works), 2),
                    "launches": launches(works[0]),
                    "host_microseconds": round(clock.host_microseconds(works[0]), 1),
                }  # fmt: skip
