"""Sweep tile sizes of the Triton kernels on the GPU at hand, and say which are fastest.

    python bench/tune.py [--out FILE]

Kernels that write what they read cannot be tuned by trial runs in use, so sizes come from small
functions of the shape (`agentprim_kernels/triton/plan.py`, `launch.py`). This is for whoever
changes those: it prints each case's chosen and best sizes, and writes every time with GPU and date.
Under `TRITON_INTERPRET=1`, `--device cpu` tries the way.
"""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from agentprim_kernels.triton import attend as attend_op  # noqa: E402
from agentprim_kernels.triton import launch  # noqa: E402
from agentprim_kernels.triton.plan import Plan, plan  # noqa: E402
from bench.gpu_attend import TINY, Heads, Rows, spans_of  # noqa: E402
from bench.gpu_check import facts  # noqa: E402
from bench.gpu_clock import Clock  # noqa: E402
from bench.gpu_moves import Bench  # noqa: E402

TILES = (1024, 2048, 4096, 8192, 16384)  # elements that a program moves
SIZES = {  # packed queries, keys, warps, stages
    "decode": ((16,), (32, 64, 128), (4, 8), (3, 4, 5)),
    "cascade": ((32, 64), (32, 64), (4, 8), (3, 4)),
    "prefill": ((32, 64, 128), (32, 64, 128), (4, 8), (2, 3)),
}
SPLITS = {"decode": (1, 2), "cascade": (1, 2), "prefill": (1,)}  # times the chosen number


@contextlib.contextmanager
def replaced(module, name: str, value: object) -> Iterator[None]:
    """Set an attribute for the time of a trial."""
    saved = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, saved)


def fixed(sizes: tuple[int, int, int, int], times: int, **shape) -> Plan:
    """Plan a launch with given sizes, and `times` the splits that would be chosen."""
    block_m, block_n, warps, stages = sizes
    chosen = plan(**shape)
    return dataclasses.replace(
        chosen, block_m=block_m, block_n=block_n, num_warps=warps, num_stages=stages,
        num_blocks=-(-shape["rows"] // block_m), num_splits=chosen.num_splits * times,
    )  # fmt: skip


def attempt(clock: Clock, works: list, row: dict) -> dict:
    """Time a trial; sizes may need more shared memory than there is."""
    try:
        return row | {"microseconds": round(clock.microseconds(works), 2)}
    except Exception as error:
        return row | {"error": f"{type(error).__name__}: {error}"[:120]}


def attends(clock: Clock, heads: Heads, tokens: int, sizes: dict, new: int) -> Iterator[dict]:
    """Try sizes of `attend` for one row, for rows that share a span, and for many new tokens."""
    pages = -(-tokens // 16)
    cases = {
        "decode": Rows(heads, [spans_of(tokens, 4)], 1, clock.device),
        "cascade": Rows(heads, [[(pages + n * 8, 128), (0, tokens)] for n in range(8)], 1,
                        clock.device),
        "prefill": Rows(heads, [spans_of(tokens, 4)], new, clock.device),
    }  # fmt: skip
    for name, case in cases.items():
        about = {"case": f"attend {name}", "dim": heads.dim, "tokens": tokens}
        works = case.works(together=True)
        yield attempt(clock, works, about | {"sizes": "chosen"})
        for tried in itertools.product(*sizes[name]):
            for times in SPLITS[name]:
                trial = {"sizes": [*tried], "times_the_splits": times}
                with replaced(attend_op, "plan", functools.partial(fixed, tried, times)):
                    row = attempt(clock, works, about | trial)
                yield row


def moves(clock: Clock, shape: tuple[int, int, int], tokens: int, tiles) -> Iterator[dict]:
    """Try how much a program of the other ops moves."""
    bench = Bench(shape, tokens, clock.device)
    for name, works in bench.works(tokens):
        about = {"case": name, "dim": shape[2], "tokens": tokens}
        yield attempt(clock, works, about | {"sizes": "chosen"})
        for tile in tiles:
            with replaced(launch, "_TILE", tile):
                row = attempt(clock, works, about | {"sizes": tile})
            yield row


def best(rows: list[dict]) -> Iterator[str]:
    """Say for each case what was chosen and what is fastest."""
    key = lambda row: (row["case"], row["dim"], row["tokens"])  # noqa: E731
    for case, group in itertools.groupby(rows, key):
        timed = [row for row in group if "microseconds" in row]
        chosen = next((row["microseconds"] for row in timed if row["sizes"] == "chosen"), None)
        fastest = min(timed, key=lambda row: row["microseconds"], default=None)
        if fastest:
            took, sizes = fastest["microseconds"], fastest["sizes"]
            yield f"{case}: chosen {chosen} us, best {took} us by {sizes}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    device, rows = options.device, []
    about, clock = facts(device), Clock(device)
    name = about["device"].lower().replace(" ", "-").replace(",", "")
    out = options.out or ROOT / "bench" / "results" / f"tune_{name}.json"
    if device == "cpu":
        few = {name: ((16,), (16,), (4,), (2,)) for name in SIZES}
        trials = [attends(clock, TINY, 40, few, 5), moves(clock, (2, 2, 16), 20, (64,))]
    else:
        trials = [
            *(attends(clock, Heads(dim=dim), 16384, SIZES, 1024) for dim in (64, 128, 256)),
            *(moves(clock, (36, 8, 128), tokens, TILES) for tokens in (1, 8, 512, 8192)),
            moves(clock, (16, 8, 64), 8192, TILES),
        ]  # fmt: skip
    with torch.no_grad():
        for row in itertools.chain.from_iterable(trials):
            rows.append(row)
            out.write_text(json.dumps({"facts": about, "rows": rows}, indent=1) + "\n")
    print(*best(rows), f"{len(rows)} trials in {out}", sep="\n")


if __name__ == "__main__":
    main()
