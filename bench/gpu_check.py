"""Check every kernel on a GPU, then time it against a plain copy, from the bare source tree.

    python bench/gpu_check.py [--quick] [--out FILE]

Needs torch and Triton only: no installation, no compiled module. Checks before it times, each
section within its share of five minutes, and writes its JSON after every one, so that a run that is
cut short leaves what it knew. Under `TRITON_INTERPRET=1`, `--device cpu` goes the same way with few
checks and tiny sizes; its times say nothing.
"""

import argparse
import json
import platform
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import triton  # noqa: E402

from bench import gpu_attend, gpu_cases, gpu_graphs, gpu_moves, gpu_offload  # noqa: E402
from bench.gpu_clock import Clock  # noqa: E402
from bench.gpu_targets import show, targets  # noqa: E402

BUDGET = 275  # seconds for all sections


def facts(device: str) -> dict:
    """Say what ran where."""
    about = {
        "torch": torch.__version__, "triton": triton.__version__, "cuda": torch.version.cuda,
        "python": platform.python_version(), "when": time.strftime("%Y-%m-%d %H:%M:%S"),
        "device": "cpu, interpreted",
    }  # fmt: skip
    if device == "cuda":
        found = torch.cuda.get_device_properties(0)
        about |= {
            "device": found.name, "capability": f"{found.major}.{found.minor}",
            "processors": found.multi_processor_count, "memory_gb": found.total_memory / 1e9,
            "l2_mb": getattr(found, "L2_cache_size", 0) / 1e6,
        }  # fmt: skip
    return about


class Report:
    """Sections of one run, each written as soon as it is done."""

    def __init__(self, out: Path, about: dict) -> None:
        self._out, self._start = out, time.perf_counter()
        self.parts: dict = {"facts": about}
        out.parent.mkdir(parents=True, exist_ok=True)

    def section(self, title: str, seconds: float, rows: Iterable[dict]) -> list[dict]:
        """Collect rows until they end, fail, or time is up; keep what there is."""
        begin = time.perf_counter()
        part: dict = {"rows": []}
        until = min(begin + seconds, self._start + BUDGET)
        try:
            for row in rows:
                part["rows"].append(row)
                if time.perf_counter() > until:
                    part["cut_short"] = f"after {seconds} s, or {BUDGET} s of the whole run"
                    break
        except Exception as error:  # the other sections are still worth knowing
            traceback.print_exc()
            part["error"] = f"{type(error).__name__}: {error}"[:1000]
        part["seconds"] = round(time.perf_counter() - begin, 1)
        self.parts[title] = part
        self.write()
        print(f"{self.parts['seconds']:7.1f} s  {title}: {len(part['rows'])} rows", flush=True)
        return part["rows"]

    def write(self) -> None:
        """Write everything so far."""
        self.parts["seconds"] = round(time.perf_counter() - self._start, 1)
        self._out.write_text(json.dumps(self.parts, indent=1) + "\n")

    def failures(self) -> list[str]:
        """Name sections and rows with an error."""
        return [
            f"{title}: {one['error']}"
            for title, part in self.parts.items() if isinstance(part, dict)
            for one in (part, *part.get("rows", ())) if "error" in one
        ]  # fmt: skip


def time_all(report: Report, device: str, quick: bool) -> None:
    """Time every op; on a CPU, only try the way."""
    clock = Clock(device)
    if device == "cpu":
        shapes, tiny = gpu_moves.TINY_SHAPES, gpu_attend.TINY
        report.section("moves", 60, gpu_moves.moves(clock, shapes, gpu_moves.TINY_TOKENS))
        report.section("few tokens", 60, gpu_moves.few_tokens(clock, shapes, (1, 2)))
        report.section("decode", 60, gpu_attend.decode(clock, tiny, ((2, 40),), (1, 8)))
        report.section("cascade", 60, gpu_attend.cascade(clock, tiny, (40,), 2, 5))
        report.section("prefill", 60, gpu_attend.prefill(clock, tiny, ((40, 9), (16, 16))))
        return
    tokens = (4096,) if quick else gpu_moves.TOKENS
    report.section("moves", 65, gpu_moves.moves(clock, tokens=tokens))
    report.section("few tokens", 35, gpu_moves.few_tokens(clock))
    for title, work in gpu_attend.SECTIONS.items():
        report.section(title, 30, work(clock))
    report.section("offload", 25, gpu_offload.offload(quick))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="few checks, few sizes")
    parser.add_argument("--workers", type=int, default=8, help="processes that check")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    device, quick = options.device, options.quick or options.device == "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device is visible; --device cpu runs under TRITON_INTERPRET=1")
    if device == "cpu":
        from tests.kernels.interpreted import bf16

        bf16.mend()
    about = facts(device)
    name = about["device"].lower().replace(" ", "-").replace(",", "")
    out = options.out or ROOT / "bench" / "results" / f"gpu_{name}.json"
    report = Report(out, about)
    workers = 1 if device == "cpu" else options.workers
    checks = report.section("checks", 110, gpu_cases.check_all(device, quick, workers))
    report.section("checks in graphs", 30, gpu_graphs.check_all(device, quick))
    if device == "cuda" and torch.cuda.mem_get_info()[0] > 8e9:
        report.section("checks behind 2**31 elements", 20, gpu_cases.check_far(device))
    if report.failures():
        print("no timing: fix the checks first")
    else:
        time_all(report, device, quick)
        report.parts["targets"] = targets(report.parts)
        print("\n".join(show(report.parts["targets"])))
    report.write()
    failures = report.failures()
    print(*failures, f"{len(checks)} checks, {len(failures)} failures; {out}", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
