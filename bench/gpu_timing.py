"""Time ops on a GPU as a share of a plain copy of the same bytes in the same run.

Work is captured in a CUDA graph and replayed, so that the host's launch time stays out; what a call
costs the host is reported beside it. All data is several times the L2 cache.
"""

import functools
import statistics
import time
from collections.abc import Callable

import torch

import agentprim_kernels as ops
from agentprim_kernels.triton import attend as attend_op
from agentprim_kernels.triton.plan import Plan, plan

LAYERS, HEADS, DIM, PAGE_SIZE, GROUP = 16, 8, 128, 16, 4
DTYPE, DEVICE = torch.bfloat16, "cuda"


def milliseconds(work: Callable[[], object], repeats: int = 20) -> tuple[float, float]:
    """Return the median GPU time of one replay, and the host's time of one plain call."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            work()
        stream.synchronize()
        begin = time.perf_counter()
        work()
        host = (time.perf_counter() - begin) * 1e3
        stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()
    times = []
    for _ in range(repeats + 2):
        first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        graph.replay()
        second.record()
        second.synchronize()
        times.append(first.elapsed_time(second))
    return statistics.median(times[2:]), host


def copy_rate() -> float:
    """Return bytes moved (read and written) a millisecond by a plain copy of 512 MB."""
    source = torch.empty(2**28, dtype=DTYPE, device=DEVICE).zero_()
    target = torch.empty_like(source)
    return 2 * source.nbytes / milliseconds(lambda: target.copy_(source))[0]


def pool(tokens: int, num_spans: int, batch: int = 1) -> dict:
    """Return caches of random keys and the tables of `batch` sequences of equal spans."""
    pages = batch * tokens // PAGE_SIZE
    shape = (LAYERS, pages, HEADS, PAGE_SIZE, DIM)
    k_cache, v_cache = (torch.randn(shape, dtype=DTYPE, device=DEVICE) for _ in range(2))
    table = torch.randperm(pages, device=DEVICE).int()
    each = tokens // num_spans
    spans = [[n * each // PAGE_SIZE, 0, each, n % num_spans * each, -1]
             for n in range(batch * num_spans)]  # fmt: skip
    frequencies = 1e6 ** (-torch.arange(0, DIM, 2, device=DEVICE) / DIM)
    deltas = [7 * n + 1 for n in range(len(spans))]
    return {
        "k_cache": k_cache, "v_cache": v_cache, "page_table": table,
        "spans": torch.tensor(spans, dtype=torch.int32, device=DEVICE),
        "rotation": ops.rotation(deltas, frequencies.expand(LAYERS, -1)),
    }  # fmt: skip


def row(name: str, work: Callable[[], object], moved: int, rate: float, **about) -> dict:
    """Time one piece of work that moves a number of bytes."""
    gpu, host = milliseconds(work)
    return {
        "name": name, **about, "ms": round(gpu, 4), "host_ms": round(host, 3),
        "gb_per_s": round(moved / gpu / 1e6, 1), "share_of_copy": round(moved / gpu / rate, 3),
    }  # fmt: skip


def movers(tokens: int, num_spans: int):
    """Yield name, work and bytes moved (read and written) of each op, over all layers."""
    k_cache, v_cache, table, spans, turn = pool(tokens, num_spans).values()
    out_k, out_v = torch.empty_like(k_cache), torch.empty_like(v_cache)
    order = torch.arange(tokens, device=DEVICE)
    slots, source = (torch.randperm(tokens, device=DEVICE) for _ in range(2))
    which = torch.zeros(tokens, dtype=torch.int32, device=DEVICE)
    keys, values = (torch.randn(LAYERS, 1, tokens, HEADS, DIM, dtype=DTYPE, device=DEVICE)
                    .transpose(2, 3) for _ in range(2))  # fmt: skip
    kept, both = (table, spans, turn), 4 * k_cache.nbytes
    for interleaved in (False, True):
        options = {"interleaved": interleaved, "impl": "triton"}
        pairs = " of adjacent pairs" if interleaved else ""
        yield (f"rotate{pairs}",
               functools.partial(ops.rotate_, k_cache, *kept, **options), both // 2)  # fmt: skip
        work = functools.partial(ops.materialize_, out_k, out_v, order, k_cache, v_cache, *kept)
        yield f"materialize{pairs}", functools.partial(work, **options), both
    work = functools.partial(
        ops.select_, out_k, out_v, slots, k_cache, v_cache, source, which, turn, impl="triton"
    )
    yield "select scattered tokens", work, both
    work = functools.partial(ops.store_, k_cache, v_cache, order[None], keys, values, impl="triton")
    yield "store", work, both


def moves(quick: bool) -> list[dict]:
    """Time rotate, materialize, select and store over all layers."""
    rate = copy_rate()
    return [
        row(name, work, moved, rate, tokens=tokens, spans=num_spans)
        for tokens, num_spans in ((4096, 1), (4096, 64), (16384, 8))[: 1 if quick else None]
        for name, work, moved in movers(tokens, num_spans)
    ]


def attend_case(tokens: int, num_spans: int, batch: int, queries: int) -> Callable[[], object]:
    """Return a call that attends at every layer in turn."""
    p = pool(tokens, num_spans, batch)
    starts = torch.arange(batch + 1, device=DEVICE, dtype=torch.int32) * num_spans
    first = tokens - queries
    at = (first + torch.arange(queries, device=DEVICE, dtype=torch.int32)).repeat(batch, 1)
    shape = (batch, queries, HEADS * GROUP, DIM)
    query = torch.randn(shape, dtype=DTYPE, device=DEVICE).transpose(1, 2)

    def work():
        for layer in range(LAYERS):
            ops.attend(
                query, p["k_cache"][layer], p["v_cache"][layer], p["page_table"], p["spans"],
                p["rotation"][layer], starts, at, scale=DIM**-0.5, impl="triton",
            )  # fmt: skip

    return work


def decode(quick: bool) -> list[dict]:
    """Time one new token a sequence: over 1, 8 and 64 spans, against one span."""
    rate, rows = copy_rate(), []
    for batch, tokens in ((1, 4096),) if quick else ((1, 4096), (1, 65536), (16, 4096)):
        alone = None
        for num_spans in (1, 8, 64):
            moved = 2 * LAYERS * batch * tokens * HEADS * DIM * DTYPE.itemsize
            work = attend_case(tokens, num_spans, batch, 1)
            about = {"batch": batch, "tokens": tokens, "spans": num_spans, "layers": LAYERS}
            result = row("decode", work, moved, rate, **about)
            alone = alone or result["ms"]
            rows.append(result | {"against_one_span": round(result["ms"] / alone, 3)})
    return rows


def prefill(quick: bool) -> list[dict]:
    """Time blocks of new tokens in TFLOP/s, beside torch's attention on dense tensors."""
    rows = []
    for tokens, queries in ((4096, 512),) if quick else ((4096, 512), (4096, 4096), (32768, 2048)):
        seen = queries * (tokens - queries) + queries * (queries + 1) // 2
        flops = 4 * seen * HEADS * GROUP * DIM * LAYERS
        gpu, host = milliseconds(attend_case(tokens, 4, 1, queries), repeats=5)
        result = {
            "tokens": tokens, "queries": queries, "ms": round(gpu, 3), "host_ms": round(host, 3),
            "tflop_per_s": round(flops / gpu / 1e9, 1),
        }  # fmt: skip
        if tokens == queries:
            q, k, v = (torch.randn(1, heads, tokens, DIM, dtype=DTYPE, device=DEVICE)
                       for heads in (HEADS * GROUP, HEADS, HEADS))  # fmt: skip
            dense = functools.partial(
                torch.nn.functional.scaled_dot_product_attention, q, k, v, is_causal=True,
                enable_gqa=True,
            )  # fmt: skip
            result["torch_sdpa_ms"] = round(LAYERS * milliseconds(dense, repeats=5)[0], 3)
        rows.append(result)
    return rows


def plans() -> list[dict]:
    """Time other tile sizes of `attend` than the chosen ones, for whoever tunes `plan`."""
    rows = []
    for queries, tokens, tried in (
        (1, 16384, [(16, 64, 4, 2), (16, 64, 4, 5), (16, 32, 4, 5), (16, 64, 8, 5),
                    (16, 128, 8, 3)]),
        (2048, 4096, [(64, 64, 8, 2), (64, 64, 4, 2), (64, 64, 8, 3), (128, 64, 8, 2),
                      (128, 32, 8, 2), (128, 64, 8, 3)]),
    ):  # fmt: skip
        work = attend_case(tokens, 4, 1, queries)
        for block_m, block_n, warps, stages in tried:
            for splits in (8, 16, 32, 64) if queries == 1 else (1,):

                def fixed(_sizes=(block_m, block_n, warps, stages), _splits=splits, **shape):
                    m, n, w, s = _sizes
                    return Plan(block_m=m, block_n=n, num_blocks=-(-shape["rows"] // m),
                                num_splits=_splits, num_warps=w, num_stages=s)  # fmt: skip

                attend_op.plan = fixed
                about = {"queries": queries, "tokens": tokens, "splits": splits,
                         "m_n_warps_stages": [block_m, block_n, warps, stages]}  # fmt: skip
                try:
                    about["ms"] = round(milliseconds(work, repeats=5)[0], 4)
                except Exception as error:  # too much shared memory, say
                    about["error"] = str(error)[:200]
                finally:
                    attend_op.plan = plan
                rows.append(about)
    return rows
