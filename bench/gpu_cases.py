"""Cases of `gpu_check`: every op by Triton on a device, against the reference on the CPU."""

import concurrent.futures
import itertools
import multiprocessing
import time
from collections.abc import Iterator

import torch

import agentprim_kernels as ops
from tests.kernels import cases

DTYPES = (torch.bfloat16, torch.float16, torch.float32)
FUNCTIONS = {"rotate": "rotate_", "store": "store_", "materialize": "materialize_",
             "select": "select_", "attend": "attend"}  # fmt: skip
MOVED = {torch.float32: 1e-5, torch.float16: 2**-9, torch.bfloat16: 2**-6}
ATTENDED = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def listed(quick: bool):
    """Yield `(op, dtype, options)`; few and small where quick."""
    pairings = (False, True)
    if quick:
        for op in FUNCTIONS:
            yield op, torch.bfloat16, {} if op == "store" else {"interleaved": True}
        yield "attend", torch.float32, {"window": 12, "softcap": 5.0, "sinks": True}
        return
    for op, dtype in itertools.product(FUNCTIONS, DTYPES):
        if op == "store":
            yield op, dtype, {}
            continue
        for interleaved in pairings:
            yield op, dtype, {"interleaved": interleaved}
    for op in FUNCTIONS:
        for page_size in (1, 5, 16, 64):
            yield op, torch.bfloat16, {"page_size": page_size, "odd_strides": True}
    for op in ("rotate", "materialize", "select", "attend"):
        yield op, torch.bfloat16, {"rotary_dim": 6}
    for dim, interleaved in itertools.product((64, 80, 96, 128, 256), pairings):
        sizes = {"k_dim": dim, "v_dim": dim, "rotary_dim": dim if dim != 80 else 32}
        for queries in (1, 70):
            options = {**sizes, "interleaved": interleaved, "queries": queries, "page_size": 16}
            yield "attend", torch.bfloat16, {**options, "lengths": (50, 3, 90)}
    for heads, kv_heads in ((6, 2), (8, 1), (3, 3), (9, 3), (32, 8)):
        yield "attend", torch.bfloat16, {"heads": heads, "kv_heads": kv_heads, "k_dim": 64}
    everything = {"gapped": True, "window": 40, "softcap": 5.0, "sinks": True}
    for options in ({"window": 1}, {"window": 40}, {"softcap": 2.0}, {"sinks": True},
                    {"gapped": True}, everything):  # fmt: skip
        for queries in (2, 40):
            yield "attend", torch.float16, {**options, "queries": queries}


def close(have: torch.Tensor, want: torch.Tensor, tolerance: float) -> float:
    """Return the largest difference; raise if it is too large or NaN stands elsewhere."""
    have, want = have.cpu().double(), want.cpu().double()
    torch.testing.assert_close(have, want, rtol=tolerance, atol=tolerance, equal_nan=True)
    gap = (have - want).nan_to_num(0.0, 0.0, 0.0).abs()
    return gap.max().item() if gap.numel() else 0.0


def check(op: str, dtype: torch.dtype, options: dict, device: str) -> float:
    """Run one case twice, compare everything that an op returns or writes."""
    function = getattr(ops, FUNCTIONS[op])
    case = getattr(cases, op)(0, dtype, **options)
    there = {k: v.to(device, copy=True) if torch.is_tensor(v) else v for k, v in case.items()}
    if options.get("odd_strides"):
        for name in ("k_cache", "v_cache", "out_k", "out_v"):
            if name in case:  # .to() made them dense
                base = case[name]._base.to(device, copy=True)
                there[name] = base.as_strided(
                    case[name].shape, case[name].stride(), case[name].storage_offset()
                )
    want, have = function(**case, impl="reference"), function(**there, impl="triton")
    if op == "attend":
        return max(close(a, b, ATTENDED[dtype]) for a, b in zip(have, want, strict=True))
    written = ("out_k", "out_v") if "out_k" in case else ("k_cache", "v_cache")
    return max(close(there[name], case[name], MOVED[dtype]) for name in written if name in case)


def check_one(op: str, dtype: torch.dtype, options: dict, device: str) -> dict:
    """Check one case; an error text instead of a difference on failure."""
    row = {"op": op, "dtype": str(dtype).removeprefix("torch."), "options": str(options)}
    start = time.perf_counter()
    try:
        row["largest_difference"] = check(op, dtype, options, device)
    except Exception as error:  # every case must be tried: machines with a GPU are rare
        row["error"] = f"{type(error).__name__}: {error}"[:500]
    return row | {"seconds": round(time.perf_counter() - start, 2)}


def check_all(device: str, quick: bool, workers: int) -> Iterator[dict]:
    """Check every listed case, a row for each; kernels are compiled by several processes."""
    if workers == 1:
        for op, dtype, options in listed(quick):
            yield check_one(op, dtype, options, device)
        return
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        todo = [pool.submit(check_one, *case, device) for case in listed(quick)]
        try:
            for done in concurrent.futures.as_completed(todo):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def check_far(device: str) -> Iterator[dict]:
    """Rotate, copy and attend behind 2**31 elements of a bf16 cache of 4.3 GB."""
    pages = 2**31 // (8 * 16 * 128) + 64
    k_cache = torch.zeros(1, pages, 8, 16, 128, dtype=torch.bfloat16, device=device)
    k_cache[:, -64:] = torch.randn(1, 64, 8, 16, 128, generator=cases.generator(0)).to(device)
    table = (pages - 1 - torch.arange(40, dtype=torch.int32)).to(device)
    spans = torch.tensor([[0, 5, 600, 0, -1]], dtype=torch.int32, device=device)
    turn = cases.rotation([77], 1, 128).to(device)
    small, near = k_cache[:, -64:].cpu(), table.cpu() - (pages - 64)
    rest = spans.cpu(), turn.cpu()
    query = torch.randn(1, 32, 1, 128, generator=cases.generator(1)).bfloat16()
    starts, at = torch.tensor([0, 1]).int(), torch.tensor([[599]]).int()
    have = ops.attend(query.to(device), k_cache[0], k_cache[0], table, spans, turn[0],
                      starts.to(device), at.to(device), scale=0.1, impl="triton")  # fmt: skip
    want = ops.attend(query, small[0], small[0], near, rest[0], rest[1][0], starts, at, scale=0.1,
                      impl="reference")  # fmt: skip
    yield {"op": "attend", "largest_difference": close(have[0], want[0], 3e-2)}
    out, expected = (torch.zeros(2, 1, 1, 8, 600, 128, dtype=torch.bfloat16) for _ in range(2))
    out, slots = out.to(device), torch.arange(600)
    ops.materialize_(*out, slots.to(device), k_cache, k_cache, table, spans, turn, impl="triton")
    ops.materialize_(*expected, slots, small, small, near, *rest, impl="reference")
    worst = close(out, expected, MOVED[torch.bfloat16])
    yield {"op": "materialize", "largest_difference": worst}
    ops.rotate_(k_cache, table, spans, turn, impl="triton")
    ops.rotate_(small, near, *rest, impl="reference")
    worst = close(k_cache[:, -64:], small, MOVED[torch.bfloat16])
    assert not k_cache[:, :-64].any(), "a slot in front was written"
    yield {"op": "rotate", "largest_difference": worst}
