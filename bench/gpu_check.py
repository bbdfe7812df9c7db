"""Check every kernel on a GPU, then time it against a plain copy, from the bare source tree.

    python bench/gpu_check.py [--quick] [--out FILE]

Needs torch and Triton only: no installation, no compiled module. Checks before it times; writes
its JSON after every section, so that a run that is cut short leaves what it knew. Under
`TRITON_INTERPRET=1`, `--device cpu --quick` runs a small part of the checks.
"""

import argparse
import json
import platform
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import triton  # noqa: E402

from bench import gpu_cases, gpu_offload, gpu_timing  # noqa: E402

BUDGET = 290  # seconds


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="few checks, few sizes")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device is visible; --device cpu runs under TRITON_INTERPRET=1")
    if options.device == "cpu":
        from tests.kernels.interpreted import bf16

        bf16.mend()
    start = time.perf_counter()
    about = facts(options.device)
    name = about["device"].lower().replace(" ", "-").replace(",", "")
    out = options.out or ROOT / "bench" / "results" / f"gpu_{name}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    report = {"facts": about}

    def section(title, work, *arguments):
        """Run one part, keep its result or its error, and write everything so far."""
        if time.perf_counter() - start > BUDGET:
            report[title] = {"skipped": "time is up"}
        else:
            try:
                report[title] = work(*arguments)
            except Exception as error:
                traceback.print_exc()
                report[title] = {"error": f"{type(error).__name__}: {error}"[:1000]}
        report["seconds"] = round(time.perf_counter() - start, 1)
        out.write_text(json.dumps(report, indent=1) + "\n")
        print(f"{report['seconds']:7.1f} s  {title}", flush=True)

    section("checks", gpu_cases.check_all, options.device, options.quick)
    failed = [row for row in report["checks"] if "error" in row]
    for row in failed:
        print(row, flush=True)
    if options.device == "cuda":
        free, _ = torch.cuda.mem_get_info()
        if free > 8e9:
            section("checks behind 2**31 elements", gpu_cases.check_far, options.device)
        if failed:
            print("no timing: fix the checks first")
        else:
            section("moves", gpu_timing.moves, options.quick)
            section("decode", gpu_timing.decode, options.quick)
            section("prefill", gpu_timing.prefill, options.quick)
            section("offload", gpu_offload.offload, options.quick)
            if not options.quick:
                section("plans", gpu_timing.plans)
    errors = [title for title, part in report.items() if isinstance(part, dict) and "error" in part]
    print(f"{len(report['checks'])} checks, {len(failed)} failed; {errors or 'no'} errors; {out}")
    return 1 if failed or errors else 0


if __name__ == "__main__":
    sys.exit(main())
