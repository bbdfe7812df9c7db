"""The GPU check must not meet its own mistakes for the first time on a GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bench import gpu_cases, gpu_timing

ROOT = Path(__file__).parents[2]


def test_a_small_part_runs_under_the_interpreter(tmp_path):
    out = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "bench/gpu_check.py", "--device", "cpu", "--quick", "--out", str(out)],
        cwd=ROOT, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(out.read_text())
    assert {row["op"] for row in report["checks"]} == set(gpu_cases.FUNCTIONS)
    assert all(row["largest_difference"] < 0.03 for row in report["checks"])


@pytest.mark.parametrize("quick", [False, True])
def test_every_listed_case_can_be_built_and_has_an_answer(quick):
    listed = list(gpu_cases.listed(quick))
    assert len(listed) >= (6 if quick else 80)
    for op, dtype, options in listed:
        case = getattr(gpu_cases.cases, op)(0, dtype, **options)
        result = getattr(gpu_cases.ops, gpu_cases.FUNCTIONS[op])(**case, impl="reference")
        assert (result is not None) == (op == "attend")


def test_a_difference_is_not_accepted():
    want = torch.tensor([1.0, gpu_cases.cases.NAN])
    assert gpu_cases.close(want, want, 1e-3) == 0
    for wrong in ([1.1, gpu_cases.cases.NAN], [1.0, 1.0], [gpu_cases.cases.NAN] * 2):
        with pytest.raises(AssertionError):
            gpu_cases.close(torch.tensor(wrong), want, 1e-3)


def test_timed_work_is_valid(monkeypatch):
    """Every timed call passes the checks of its op, on a pool cut down to fit a CPU."""
    monkeypatch.setattr(gpu_timing, "DEVICE", "cpu")
    monkeypatch.setattr(gpu_timing, "LAYERS", 2)
    asked = []
    for name in gpu_cases.FUNCTIONS.values():
        function = getattr(gpu_timing.ops, name)

        def by_reference(*args, _run=function, impl, **options):
            asked.append(impl)
            return _run(*args, impl="reference", **options)

        monkeypatch.setattr(gpu_timing.ops, name, by_reference)
    names = [(name, work()) for name, work, moved in gpu_timing.movers(64, 4) if moved]
    assert len(names) == 6
    gpu_timing.attend_case(64, 4, 2, 1)()
    gpu_timing.attend_case(64, 4, 1, 5)()
    assert set(asked) == {"triton"} and len(asked) == 6 + 2 * 2
