"""The cases: each op by the compiled ops, the reference, plain torch and torch.compile."""

from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor

import agentprim_kernels as ops
from agentprim_kernels.bench import plain
from agentprim_kernels.bench.case import REFERENCE, Case
from agentprim_kernels.bench.data import DIM, HEADS, KV_HEADS, PAGE_SIZE, frequencies, make
from agentprim_kernels.dispatch import choose

EAGER, COMPILED = "torch eager", "torch.compile"


def providers(
    function: str, device: str, op: Callable[..., None], eager: Callable[..., None]
) -> dict[str, Callable[..., None]]:
    """Name who can do an op here: our best one, the reference, eager and compiled torch."""
    best = choose(function, device)
    ours = {name: partial(op, impl=name) for name in dict.fromkeys((best, REFERENCE))}
    return ours | {EAGER: eager, COMPILED: compiled(eager)}


def compiled(function: Callable) -> Callable:
    """Return what `torch.compile` makes of a function, made when it is first called."""
    make_it = cache(partial(torch.compile, function, dynamic=False))
    return lambda *arguments: make_it()(*arguments)


def empty(*shape: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return two targets full of NaN."""
    return tuple(like.new_full(shape, torch.nan) for _ in range(2))


def rotate(*, layers: int, tokens: int = 4096, spans: int = 8, device: str = "cpu") -> Case:
    """Turn the stored keys of all spans in place."""
    data = make(tokens, spans, layers, device=device)
    order = data.page_table.long().argsort()  # the row of each page
    cos, sin = data.cos[order], data.sin[order]

    def op(k_cache: Tensor, *, impl: str) -> None:
        ops.rotate_(k_cache, *data.tables, impl=impl)

    def eager(k_cache: Tensor) -> None:
        plain.rotate(k_cache, cos, sin)

    return Case(
        op="rotate", moved=2 * data.k_cache.nbytes, targets=(data.k_cache,),
        providers=providers("rotate_", device, op, eager),
        about={"layers": layers, "tokens": tokens, "spans": spans},
    )  # fmt: skip


def materialize(*, layers: int, tokens: int = 4096, spans: int = 8, device: str = "cpu") -> Case:
    """Gather moved spans as a dense cache: read, turn and write in one pass."""
    data = make(tokens, spans, layers, device=device)
    slots, pages = torch.arange(tokens, device=device), data.page_table.long()
    caches = data.k_cache, data.v_cache

    def op(out_k: Tensor, out_v: Tensor, *, impl: str) -> None:
        ops.materialize_(out_k, out_v, slots, *caches, *data.tables, impl=impl)

    def eager(out_k: Tensor, out_v: Tensor) -> None:
        plain.materialize(out_k, out_v, *caches, pages, data.cos, data.sin)

    return Case(
        op="materialize", moved=4 * data.k_cache.nbytes,
        targets=empty(layers, 1, KV_HEADS, tokens, DIM, like=data.k_cache),
        providers=providers("materialize_", device, op, eager),
        about={"layers": layers, "tokens": tokens, "spans": spans},
    )  # fmt: skip


def store(*, layers: int, tokens: int = 4096, device: str = "cpu") -> Case:
    """Write new keys and values, given in Hugging Face's layout, to pages in any order."""
    data = make(tokens, 1, layers, device=device)
    offsets = torch.arange(PAGE_SIZE, device=device)
    slots = (data.page_table.long()[:, None] * PAGE_SIZE + offsets).view(1, -1)
    new = [
        one.view(layers, 1, tokens, KV_HEADS, DIM).transpose(2, 3)
        for one in (data.k_cache, data.v_cache)
    ]

    def op(k_cache: Tensor, v_cache: Tensor, *, impl: str) -> None:
        ops.store_(k_cache, v_cache, slots, *new, impl=impl)

    def eager(k_cache: Tensor, v_cache: Tensor) -> None:
        plain.store(k_cache, v_cache, slots[0] // PAGE_SIZE, slots[0] % PAGE_SIZE, *new)

    return Case(
        op="store", moved=4 * data.k_cache.nbytes,
        targets=empty(*data.k_cache.shape, like=data.k_cache), tolerance=0.0,
        providers=providers("store_", device, op, eager),
        about={"layers": layers, "tokens": tokens},
    )  # fmt: skip


def select(*, layers: int, tokens: int = 4096, run: int = 0, device: str = "cpu") -> Case:
    """Keep half of `tokens` tokens, keys turned: ascending ones, or runs of `run` in any order."""
    data = make(tokens, 1, layers, device=device)
    kept, rows, size = tokens // 2, 8, max(run, 1)
    source = torch.Generator(device).manual_seed(1)
    firsts = torch.randperm(tokens // size, generator=source, device=device)[: kept // size] * size
    keep = (firsts[:, None] + torch.arange(size, device=device)).flatten()
    keep = keep if run else keep.sort().values
    chosen = data.page_table.long()[keep // PAGE_SIZE] * PAGE_SIZE + keep % PAGE_SIZE
    which = (torch.arange(kept, device=device) * rows // kept).int()
    turn = ops.rotation([-3 * n - 1 for n in range(rows)], frequencies(layers, device))
    cos, sin = (
        turn[0, which.long(), n].repeat(1, 2)[:, None, None].to(data.k_cache.dtype)
        for n in (0, 1)
    )  # fmt: skip
    slots, caches = torch.arange(kept, device=device), (data.k_cache, data.v_cache)

    def op(out_k: Tensor, out_v: Tensor, *, impl: str) -> None:
        ops.select_(out_k, out_v, slots, *caches, chosen, which, turn, impl=impl)

    def eager(out_k: Tensor, out_v: Tensor) -> None:
        plain.select(out_k, out_v, *caches, chosen // PAGE_SIZE, chosen % PAGE_SIZE, cos, sin)

    return Case(
        op="select", moved=2 * data.k_cache.nbytes,
        targets=empty(layers, kept // PAGE_SIZE, *data.k_cache.shape[2:], like=data.k_cache),
        providers=providers("select_", device, op, eager),
        about={"layers": layers, "tokens": kept, "run": run},
    )  # fmt: skip


def attend(*, layers: int, tokens: int = 4096, spans: int = 8, device: str = "cpu") -> Case:
    """Attend from one new token to all spans, every layer in turn; torch to dense tensors."""
    data = make(tokens, spans, layers, device=device)
    source = torch.Generator(device).manual_seed(2)
    query = torch.randn(1, HEADS, 1, DIM, generator=source, device=device).to(data.k_cache.dtype)
    starts = torch.tensor([0, spans], dtype=torch.int32, device=device)
    at = torch.tensor([[tokens]], dtype=torch.int32, device=device)
    pages, scale = data.page_table.long(), DIM**-0.5
    dense = [
        (plain.gathered(plain.turned(k[pages], data.cos, data.sin), slice(None)),
         plain.gathered(v, pages))
        for k, v in zip(data.k_cache, data.v_cache, strict=True)
    ]  # fmt: skip

    def op(out: Tensor, *, impl: str) -> None:
        for layer in range(layers):
            out[layer] = ops.attend(
                query, data.k_cache[layer], data.v_cache[layer], data.page_table, data.spans,
                data.rotation[layer], starts, at, scale=scale, impl=impl,
            )[0]  # fmt: skip

    def each(attention: Callable[..., Tensor], out: Tensor) -> None:
        for layer, (keys, values) in enumerate(dense):
            out[layer] = attention(query, keys, values, scale)

    return Case(
        op="attend", moved=data.k_cache.nbytes + data.v_cache.nbytes,
        targets=(query.new_full((layers, *query.shape), torch.nan),), tolerance=2**-5,
        providers=providers("attend", device, op, partial(each, plain.attention))
        | {COMPILED: partial(each, compiled(plain.attention))}
        | {"torch SDPA": partial(each, partial(plain.sdpa, repeat=False)),
           "torch SDPA, heads repeated": partial(each, partial(plain.sdpa, repeat=True))},
        about={"layers": layers, "tokens": tokens, "spans": spans},
    )  # fmt: skip


CASES = {one.__name__: one for one in (rotate, materialize, store, select, attend)}
