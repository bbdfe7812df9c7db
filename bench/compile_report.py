"""Compile every kernel variant that matters, without a GPU, and report what came out.

    python bench/compile_report.py [--quick] [--out bench/results/cubin_report.json]

The report keeps one list of rows per Triton version; a run replaces its own version's.
"""

import argparse
import json
import os
import sys
from pathlib import Path

if os.environ.get("TRITON_INTERPRET"):
    sys.exit("TRITON_INTERPRET must not be set: interpreter and compiler cannot share a process")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch  # noqa: E402
import triton  # noqa: E402

import agentprim_kernels as ops  # noqa: E402
from bench.cubin import inspect, recorded  # noqa: E402

CAPABILITIES = (80, 90, 100)
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
DIMS = (64, 80, 128, 256)
LAYERS, PAGES, HEADS, PAGE_SIZE = 2, 16, 8, 16
DECODE, PREFILL = 1, 256


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
        queries = DECODE if op == "attend decode" else PREFILL
        query = torch.zeros(1, queries, 4 * HEADS, dim, dtype=dtype).transpose(1, 2)
        starts = torch.tensor([0, 1], dtype=torch.int32)
        positions = torch.zeros(1, queries, dtype=torch.int32)
        ops.attend(
            query, k_cache[0], v_cache[0], page_table, spans, rotation[0], starts, positions,
            scale=1.0, **turn,
        )  # fmt: skip


def variants(quick: bool):
    """List `(capability, op, dtype, dim, interleaved)` of the report, or a sample of it."""
    names = ("rotate", "store", "materialize", "select", "attend decode", "attend prefill")
    for capability in CAPABILITIES:
        for op in names:
            for dtype in DTYPES[:1] if quick else DTYPES:
                for dim in (128,) if quick else DIMS:
                    for interleaved in (False, True):
                        if interleaved and (op == "store" or (quick and capability != 90)):
                            continue
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="bf16, 128 dims only")
    parser.add_argument("--out", type=Path, default=Path("bench/results/cubin_report.json"))
    options = parser.parse_args()
    rows = [row for variant in variants(options.quick) for row in row_of(*variant)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write(options.out, rows)
    spilled = [row for row in rows if row["stack_bytes"] or row["local_accesses"]]
    for row in spilled:
        print({key: row[key] for key in ("sm", "kernel", "op", "dtype", "dim", "interleaved",
                                         "registers", "stack_bytes")})  # fmt: skip
    print(f"{len(rows)} kernels, {len(spilled)} with local memory, report in {options.out}")


if __name__ == "__main__":
    main()
