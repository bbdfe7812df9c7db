"""Capture every op in a CUDA graph, change what its buffers hold, replay, and compare.

Lengths, deltas, positions, slots and shared spans are read from device buffers, so one graph
serves as long as shapes stay. On a CPU, under Triton's interpreter, a replay is a call on the same
buffers.
"""

import functools
from collections.abc import Callable

import torch

import agentprim_kernels as ops
from bench.gpu_cases import ATTENDED, MOVED, close
from tests.kernels import cases

OPS = {
    "rotate": ops.rotate_, "store": ops.store_, "materialize": ops.materialize_,
    "select": ops.select_, "attend": ops.attend, "attend cascade": ops.attend,
}  # fmt: skip
WRITTEN = {"attend": (), "store": ("k_cache", "v_cache"), "rotate": ("k_cache",),
           "materialize": ("out_k", "out_v"), "select": ("out_k", "out_v")}  # fmt: skip


def case(op: str, dtype: torch.dtype) -> tuple[Callable, dict]:
    """Return an op and arguments for it, on the CPU."""
    if op != "attend cascade":
        return OPS[op], getattr(cases, op)(0, dtype)
    found = cases.attend(0, dtype, queries=1)
    found["page_table"] = torch.arange(9, dtype=torch.int32).repeat(2)
    found["spans"] = torch.tensor([[0, 2, 60, 5, -1], [9, 2, 60, 40, -1], [3, 0, 20, 0, -1]]).int()
    found["span_starts"] = torch.tensor([0, 1, 3, 3], dtype=torch.int32)
    found["query_positions"] = torch.tensor([[64], [99], [0]], dtype=torch.int32)
    return OPS[op], found | {"cascade": groups(found)}


def groups(found: dict) -> ops.Cascade:
    """Group the rows of a case, in tables of fixed shape."""
    tables = (found[name] for name in ("page_table", "spans", "span_starts"))
    return ops.cascade(
        *tables, page_size=found["k_cache"].shape[2], most_members=2, fixed=True
    )  # fmt: skip


def changed(found: dict) -> dict:
    """Return arguments of equal shapes: shorter spans, other deltas, other tokens and places."""
    new = {name: value.clone() if torch.is_tensor(value) else value
           for name, value in found.items()}  # fmt: skip
    if "spans" in found:
        new["spans"][:, 2] = found["spans"][:, 2] * 2 // 3
        new["rotation"] = found["rotation"].flip(-3)
    for name in ("source_slots", "rows", "keys", "values"):
        if name in found:
            new[name] = found[name].flip(-1)
    if "slot_mapping" in found:
        new["slot_mapping"] = found["slot_mapping"].flip(-1)
        if "spans" in found:  # fewer tokens
            new["slot_mapping"][int(new["spans"][:, 2].sum()) :] = -1
    if "query_positions" in found:
        new["query_positions"] = (found["query_positions"] - 20).clamp(min=-1)
    if found.get("cascade") is not None:
        new["span_starts"] = torch.tensor([0, 1, 1, 3], dtype=torch.int32)
        new["query_positions"] = torch.tensor([[44], [0], [79]], dtype=torch.int32)
        new["cascade"] = groups(new)
    return new


def tensors(value: object) -> int:
    """Count the tensors of an argument."""
    return 3 if isinstance(value, ops.Cascade) else int(torch.is_tensor(value))


def captured(work: Callable[[], object], device: str) -> Callable[[], object]:
    """Capture work in a graph after a warm-up; return what replays it and gives its result."""
    if device == "cpu":
        return work
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work()
        stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        result = work()

    def replay():
        graph.replay()
        return result

    return replay


def check(op: str, dtype: torch.dtype, device: str) -> float:
    """Replay an op with two contents of its buffers; return the largest difference."""
    function, first = case(op, dtype)
    buffers = {name: value.to(device, copy=True) if torch.is_tensor(value) else value
               for name, value in first.items()}  # fmt: skip
    if first.get("cascade") is not None:
        buffers["cascade"] = groups(first).to(device)
    replay = captured(functools.partial(function, **buffers, impl="triton"), device)
    worst = 0.0
    for contents in (first, changed(first), first):
        for name, value in contents.items():
            if tensors(value):
                buffers[name].copy_(value)
        have = replay()
        want = {name: value.clone() if torch.is_tensor(value) else value
                for name, value in contents.items()}  # fmt: skip
        if "out_k" in want and "spans" in want:
            total = int(want["spans"][:, 2].sum())
            want["slot_mapping"] = want["slot_mapping"][:total]
        result = function(**want, impl="reference")
        if result is None:
            names = WRITTEN[op]
            pairs = [(buffers[name], want[name], MOVED[dtype]) for name in names]
        else:
            pairs = [(*pair, ATTENDED[dtype]) for pair in zip(have, result, strict=True)]
        worst = max([worst, *(close(*pair) for pair in pairs)])
    return worst


def check_all(device: str, quick: bool) -> list[dict]:
    """Check every op; a row for each, an error text instead of a difference on failure."""
    rows = []
    for op in OPS:
        row = {"op": op}
        try:
            row["largest_difference"] = check(
                op, torch.float16 if quick else torch.bfloat16, device
            )
        except Exception as error:  # the others are still worth knowing
            row["error"] = f"{type(error).__name__}: {error}"[:500]
        rows.append(row)
    return rows
