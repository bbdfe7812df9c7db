"""Compile every kernel variant that matters, without a GPU, and report what came out.

    python -m bench.compile_report             compile all, replace this Triton version's rows
    python -m bench.compile_report --check     compile a sample, fail where the report differs

What changed is part of a review: more registers or narrower accesses are slower on every GPU.
"""

import argparse
import itertools
import json
import os
import sys
from pathlib import Path

if os.environ.get("TRITON_INTERPRET"):
    sys.exit("TRITON_INTERPRET must not be set: interpreter and compiler cannot share a process")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch  # noqa: E402
import triton  # noqa: E402
from torch import Tensor  # noqa: E402

import agentprim_kernels as ops  # noqa: E402
from bench.cubin import inspect, recorded  # noqa: E402

UPDATE = "python -m bench.compile_report"
REPORT = Path(__file__).parent / "results" / "cubin_report.json"
CAPABILITIES = (80, 90, 100)
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
DIMS = (64, 80, 128, 256)
MOVERS = ("rotate", "store", "materialize", "select")
ATTENDS = ("attend decode", "attend prefill", "attend cascade")
LAYERS, PAGES, HEADS, PAGE_SIZE = 2, 16, 8, 16
DECODE, PREFILL, ROWS = 1, 256, 8
CAPACITY = 4096  # slots of a page table: enough for as many splits as a GPU wants


def run(op: str, dtype: torch.dtype, dim: int, interleaved: bool) -> None:
    """Call a public op on zeros, shaped like a model of 32 query heads over 8."""
    tokens = PAGES * PAGE_SIZE
    k_cache, v_cache = (torch.zeros(LAYERS, PAGES, HEADS, PAGE_SIZE, dim, dtype=dtype),) * 2
    page_table = torch.arange(PAGES, dtype=torch.int32)
    spans = torch.tensor([[0, 0, tokens, 0, -1]], dtype=torch.int32)
    rotation = ops.rotation([7], torch.ones(LAYERS, dim // 2))
    slots = torch.arange(tokens)
    turn = {"interleaved": interleaved, "impl": "triton"}
    if op == "rotate":
        ops.rotate_(k_cache, page_table, spans, rotation, **turn)
    elif op == "store":
        new = torch.zeros(LAYERS, 1, tokens, HEADS, dim, dtype=dtype).transpose(2, 3)
        ops.store_(k_cache, v_cache, slots[None], new, new, impl="triton")
    elif op == "materialize":
        ops.materialize_(
            k_cache, v_cache, slots, k_cache, v_cache, page_table, spans, rotation, **turn
        )
    elif op == "select":
        rows = torch.zeros(tokens, dtype=torch.int32)
        ops.select_(k_cache, v_cache, slots, k_cache, v_cache, slots, rows, rotation, **turn)
    else:
        attend(op, k_cache[0], v_cache[0], rotation[0], turn)


def attend(op: str, k_cache: Tensor, v_cache: Tensor, rotation: Tensor, turn: dict) -> None:
    """Attend from one row or from several that hold the same span."""
    queries = PREFILL if op == "attend prefill" else DECODE
    batch = ROWS if op == "attend cascade" else 1
    query = k_cache.new_zeros(batch, queries, 4 * HEADS, k_cache.shape[-1]).transpose(1, 2)
    page_table = torch.zeros(CAPACITY // PAGE_SIZE, dtype=torch.int32)
    spans = torch.tensor([[0, 0, CAPACITY, 0, -1]] * batch, dtype=torch.int32)
    starts = torch.arange(batch + 1, dtype=torch.int32)
    ops.attend(
        query, k_cache, v_cache, page_table, spans, rotation.repeat(batch, 1, 1), starts,
        torch.zeros(batch, queries, dtype=torch.int32), scale=1.0,
        cascade=ops.cascade(page_table, spans, starts, page_size=PAGE_SIZE), **turn,
    )  # fmt: skip


def variants(sample: bool):
    """Yield `(capability, op, dtype, dim, interleaved)` of the report, or those that CI compiles.

    All dims are compiled for sm_90; other architectures, other storage and adjacent pairs where
    they take most registers or are used most.
    """
    every = itertools.product(CAPABILITIES, (*MOVERS, *ATTENDS), DTYPES, DIMS, (False, True))
    for capability, op, dtype, dim, interleaved in every:
        plain, usual = dtype == torch.bfloat16 and not interleaved, dim == 128
        if sample:
            chosen = plain and usual and (op in (*MOVERS, ATTENDS[0]) or capability == 90)
        elif capability == 90:
            chosen = plain or (usual and (dtype == torch.bfloat16 or not interleaved))
        else:
            chosen = dtype == torch.bfloat16 and (usual or (plain and op in ATTENDS and dim != 80))
        if chosen and not (interleaved and op == "store"):
            yield capability, op, dtype, dim, interleaved


def row_of(capability: int, op: str, dtype: torch.dtype, dim: int, interleaved: bool) -> list[dict]:
    """Compile one variant; one row for each kernel that it launches."""
    with recorded(capability) as compiled:
        run(op, dtype, dim, interleaved)
    about = {
        "sm": capability, "op": op, "dtype": str(dtype).removeprefix("torch."), "dim": dim,
        "interleaved": interleaved, "launches": len(compiled),
    }  # fmt: skip
    rows = [{**about, "kernel": name, **inspect(kernel)} for name, kernel in compiled]
    for row in rows:
        accesses = [*row["loads"].items(), *row["stores"].items()]
        total, wide = (sum(n for w, n in accesses if w >= least) for least in (0, 16))
        row["share_of_16_byte_accesses"] = round(wide / total, 2)
    return rows


def write(path: Path, rows: list[dict]) -> None:
    """Write one row a line, beside those of other Triton versions."""
    report = json.loads(path.read_text()) if path.exists() else {}
    report[triton.__version__] = rows
    blocks = [
        f"{json.dumps(version)}: [\n" + ",\n".join(map(json.dumps, report[version])) + "\n]"
        for version in sorted(report)
    ]
    path.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def key_of(row: dict) -> str:
    """Name a row of the report."""
    turn = "adjacent pairs" if row["interleaved"] else "halves"
    return f"sm_{row['sm']} {row['op']} {row['dtype']} {row['dim']} {turn} {row['kernel']}"


def differences(have: list[dict], want: list[dict]) -> list[str]:
    """Say in a line each how compiled rows differ from those of the report."""
    known, lines = {key_of(row): row for row in want}, []
    for row in have:
        old = known.get(key_of(row))
        if old is None:
            lines.append(f"{key_of(row)}: not in the report")
            continue
        lines += [
            f"{key_of(row)}: {name} {old.get(name)} -> {value}"
            for name, value in row.items() if old.get(name) != value
        ]  # fmt: skip
    return lines


def check(path: Path) -> int:
    """Compile a sample, compare it with the report, print what differs."""
    rows = json.loads(json.dumps([row for key in variants(True) for row in row_of(*key)]))
    report = json.loads(path.read_text())
    if triton.__version__ not in report:
        print(f"{path} has no rows of Triton {triton.__version__}; run `{UPDATE}`")
        return 1
    lines = differences(rows, report[triton.__version__])
    print("\n".join(lines) or f"{len(rows)} kernels as reported")
    if lines:
        print(f"review this; if it is right, run `{UPDATE}` and commit {path}")
    return 1 if lines else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare a sample, write nothing")
    parser.add_argument("--out", type=Path, default=REPORT)
    options = parser.parse_args()
    if options.check:
        return check(options.out)
    rows = [row for variant in variants(False) for row in row_of(*variant)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write(options.out, rows)
    spilled = [row for row in rows if row["stack_bytes"] or row["local_accesses"]]
    for row in spilled:
        print(key_of(row), row["registers"], "registers,", row["stack_bytes"], "bytes of stack")
    print(f"{len(rows)} kernels, {len(spilled)} with local memory, report in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
