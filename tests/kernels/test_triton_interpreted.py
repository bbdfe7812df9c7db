"""Run `tests/kernels/interpreted` in a process of its own, and accept nothing but passed tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases

FOLDER = Path(__file__).parent / "interpreted"
LEAST = 150  # tests; fewer means that some were lost


def run(*arguments, **environment):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    rest = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    root = FOLDER.parents[2]
    return subprocess.run(
        command, cwd=root, env=rest | environment, capture_output=True, text=True, timeout=900
    )


@pytest.mark.slow
def test_triton_kernels_equal_the_reference_under_the_interpreter():
    done = run(str(FOLDER), TRITON_INTERPRET="1", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    summary = done.stdout.strip().splitlines()[-1]
    assert int(re.search(r"(\d+) passed", summary)[1]) >= LEAST, summary
    assert not re.search(r"skipped|xfailed|xpassed|deselected|failed|error", summary), summary


def test_nothing_is_collected_without_the_variable():
    done = run(str(FOLDER))
    assert done.returncode == 5 and "no tests ran" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("op", ["rotate_", "store_", "materialize_", "select_", "attend"])
def test_cpu_tensors_are_refused_where_triton_compiles(op):
    """A named implementation is used or refused, never replaced; a failed call changes nothing."""
    case = getattr(cases, op.removesuffix("_"))(0, torch.float32)
    before = {name: value.clone() for name, value in case.items() if torch.is_tensor(value)}
    with pytest.raises(ValueError, match="^impl must be one that can run here, got 'triton': the"):
        getattr(ak, op)(**case, impl="triton")
    for name, value in before.items():
        assert torch.equal(value.nan_to_num(7), case[name].nan_to_num(7))


def test_a_missing_triton_is_named():
    code = (
        "import sys; sys.modules['triton'] = None\n"
        "import torch, agentprim_kernels as ak\n"
        "from tests.kernels import cases\n"
        "ak.rotate_(**cases.rotate(0, torch.float32), impl='triton')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=FOLDER.parents[2], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "ValueError: impl must be one that can run here, got 'triton': triton is" in done.stderr
