"""Run ops by Triton's interpreter, in a process of its own: `TRITON_INTERPRET=1 pytest` on here.

The variable must be set before Triton is imported, and interpreter and compiler cannot share a
process, so nothing here is collected without it; `tests/kernels/test_triton_interpreted.py` runs
this folder from the main suite and fails if anything was skipped.
"""

import os

import pytest

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
collect_ignore_glob = [] if INTERPRETED else ["*"]

if INTERPRETED:
    from triton.runtime import interpreter

    from tests.kernels.interpreted import bf16

    bf16.mend()


@pytest.fixture
def launches(monkeypatch):
    """Count kernels that the interpreter ran."""
    count = [0]
    run = interpreter.GridExecutor.__call__

    def counted(self, *args, **kwargs):
        count[0] += 1
        return run(self, *args, **kwargs)

    monkeypatch.setattr(interpreter.GridExecutor, "__call__", counted)
    return count


@pytest.fixture
def impl(launches):
    """Name the implementation, and fail a test in which no kernel ran."""
    yield "triton"
    assert launches[0] > 0, "no Triton kernel ran"
