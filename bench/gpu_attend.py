"""Sections of `gpu_check`: attention over spans, beside torch's own on dense tensors.

Each call works on layers of its own, so that keys are cold however few they are.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

import agentprim_kernels as ops
from bench.gpu_clock import Clock
from bench.gpu_moves import DTYPE, PAGE_SIZE, Works

# one row of a long text, one of a very long one, many rows
DECODES = ((1, 4096), (1, 65536), (16, 4096))
PREFILLS = ((4096, 32), (4096, 512), (32768, 2048), (4096, 4096))  # tokens, new ones among them
CASCADES = (4096, 32768)
SPANS = (1, 2, 8, 64)
ROWS, OWN = 8, 128  # rows that share a span, and what each of them holds besides
BACKENDS = (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)


@dataclass(frozen=True, kw_only=True)
class Heads:
    """The attention of a model of 8 billion parameters, some of its layers."""

    layers: int = 16
    kv_heads: int = 8
    group: int = 4
    dim: int = 128


TINY = Heads(layers=2, kv_heads=1, group=2, dim=16)


class Rows:
    """A batch: caches of random keys, and the span table of its rows."""

    def __init__(self, heads: Heads, rows: list[list[tuple[int, int]]], queries: int, device: str):
        """Lay out rows of `(first page, length)` spans; equal first pages are the same slots."""
        self.heads, self.queries, self.device = heads, queries, device
        spans, table, starts, deltas, ends = [], [], [0], [], []
        for row in rows:
            position = 0
            for first_page, length in row:
                pages = -(-length // PAGE_SIZE)
                spans.append([len(table), 0, length, position, -1])
                table += range(first_page, first_page + pages)
                deltas.append(7 * len(deltas) + 1)
                position += length
            starts.append(len(spans))
            ends.append(position)
        pages = max(table) + 1
        shape = (2, heads.layers, pages, heads.kv_heads, PAGE_SIZE, heads.dim)
        self.caches = torch.empty(shape, dtype=DTYPE, device=device).normal_()
        scattered = torch.randperm(pages)  # the same slots stay the same
        tables = (
            scattered[torch.tensor(table)].int(), torch.tensor(spans, dtype=torch.int32),
            torch.tensor(starts, dtype=torch.int32),
        )  # fmt: skip
        cascade = ops.cascade(*tables, page_size=PAGE_SIZE)
        self.cascade = None if cascade is None else cascade.to(device)
        self.tables = [part.to(device) for part in tables]
        frequencies = 1e6 ** (-torch.arange(0, heads.dim, 2, device=device) / heads.dim)
        self.turn = ops.rotation(deltas, frequencies[None])[0]
        at = torch.tensor(ends)[:, None] - queries + torch.arange(queries)
        self.at = at.int().to(device)
        shape = (len(rows), queries, heads.kv_heads * heads.group, heads.dim)
        self.query = torch.randn(shape, dtype=DTYPE, device=device).transpose(1, 2)
        read = {span[0]: span[1] for row in rows for span in row}
        self.bytes_read = 2 * heads.kv_heads * heads.dim * DTYPE.itemsize * sum(read.values())

    def works(self, together: bool = False) -> Works:
        """Return a call for each layer; rows that share spans together, or one by one."""
        page_table, spans, starts = self.tables
        return [
            functools.partial(
                ops.attend, self.query, k_cache, v_cache, page_table, spans, self.turn, starts,
                self.at, scale=self.heads.dim**-0.5, cascade=self.cascade if together else None,
                impl="triton",
            )
            for k_cache, v_cache in zip(*self.caches, strict=True)
        ]  # fmt: skip


def spans_of(tokens: int, count: int, first_page: int = 0) -> list[tuple[int, int]]:
    """Cut a text into spans of equal length."""
    each = tokens // count
    pages = -(-each // PAGE_SIZE)
    return [(first_page + n * pages, each) for n in range(count)]


def dense(clock: Clock, heads: Heads, batch: int, tokens: int, queries: int) -> dict[str, float]:
    """Time torch's attention on dense tensors by each of its backends that takes them."""
    shape = (2, heads.layers, batch, heads.kv_heads, tokens, heads.dim)
    keys, values = torch.empty(shape, dtype=DTYPE, device=clock.device).normal_()
    size = (batch, heads.kv_heads * heads.group, queries, heads.dim)
    query = torch.randn(size, dtype=DTYPE, device=clock.device)
    causal = queries == tokens
    works = [
        functools.partial(functional.scaled_dot_product_attention, query, keys[n], values[n],
                          is_causal=causal, enable_gqa=heads.group > 1)
        for n in range(heads.layers)
    ]  # fmt: skip
    times = {"torch": attempt(clock, works)}
    for backend in BACKENDS if clock.device == "cuda" else ():
        with sdpa_kernel(backend):
            times[backend.name.lower()] = attempt(clock, works)
    return {f"{name}_microseconds": took for name, took in times.items() if took}


def attempt(clock: Clock, works: Works) -> float | None:
    """Time works that a backend may refuse."""
    try:
        return round(clock.microseconds(works), 2)
    except RuntimeError:
        return None


def decode(clock: Clock, heads=None, cases=DECODES, spans=SPANS) -> Iterator[dict]:
    """Time one new token a row over several spans, against one span and against torch."""
    heads = heads or Heads()
    for batch, tokens in cases:
        beside, alone = dense(clock, heads, batch, tokens, 1), None
        for count in spans:
            pages = -(-tokens // PAGE_SIZE) + count
            rows = [spans_of(tokens, count, n * pages) for n in range(batch)]
            case = Rows(heads, rows, 1, clock.device)
            took = clock.microseconds(case.works())
            alone = alone or took
            yield {
                "batch": batch, "tokens": tokens, "spans": count, "microseconds": round(took, 2),
                "gb_per_s": round(case.bytes_read / took / 1e3, 1),
                "against_one_span": round(took / alone, 3), **beside,
            }  # fmt: skip


def cascade(clock: Clock, heads=None, tokens=CASCADES, rows=ROWS, own=OWN) -> Iterator[dict]:
    """Time rows that share a span: read once, read by each, and with a span of its own each."""
    heads = heads or Heads()
    for shared in tokens:
        pages, ends = -(-shared // PAGE_SIZE), -(-own // PAGE_SIZE)
        case = Rows(heads, [[(pages + n * ends, own), (0, shared)] for n in range(rows)], 1,
                    clock.device)  # fmt: skip
        once, each = (clock.microseconds(case.works(together)) for together in (True, False))
        bytes_once, behind = case.bytes_read, rows * pages
        del case
        case = Rows(heads, [[(behind + n * ends, own), (n * pages, shared)] for n in range(rows)],
                    1, clock.device)  # fmt: skip
        apart = clock.microseconds(case.works())
        yield {
            "rows": rows, "shared_tokens": shared, "own_tokens": own,
            "microseconds": round(once, 2), "row_by_row_microseconds": round(each, 2),
            "own_copies_microseconds": round(apart, 2), "times_faster": round(each / once, 2),
            "gb_per_s": round(bytes_once / once / 1e3, 1),
        }  # fmt: skip


def prefill(clock: Clock, heads=None, cases=PREFILLS) -> Iterator[dict]:
    """Time blocks of new tokens in TFLOP/s, beside torch where its mask is a plain one."""
    heads = heads or Heads()
    for tokens, queries in cases:
        seen = queries * (tokens - queries) + queries * (queries + 1) // 2
        flops = 4 * seen * heads.kv_heads * heads.group * heads.dim
        case = Rows(heads, [spans_of(tokens, 4)], queries, clock.device)
        took = clock.microseconds(case.works())
        beside = dense(clock, heads, 1, tokens, queries) if tokens == queries else {}
        yield {
            "tokens": tokens, "new_tokens": queries, "microseconds": round(took, 2),
            "tflop_per_s": round(flops / took / 1e6, 1), **beside,
        }  # fmt: skip


SECTIONS: dict[str, Callable[..., Iterator[dict]]] = {
    "decode": decode, "cascade": cascade, "prefill": prefill,
}  # fmt: skip
