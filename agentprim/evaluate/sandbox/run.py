"""Start a jail, give it a job and read its report."""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from agentprim.evaluate.sandbox.limits import Ran, SandboxLimits

_JAIL = Path(__file__).parent / "jail"
_GRACE = 5.0


def run_code(
    code: str,
    *,
    check: str = "",
    data: object = None,
    limits: SandboxLimits | None = None,
) -> Ran:
    """Run Python code in a process of its own, and a check of what it defined.

    The process group, the descendants that left it and the folder are gone when this returns; the
    environment of the caller is not passed on.

    Args:
        code: What a model wrote; it runs as a module named `candidate`.
        check: Trusted source. It may define `prepare(data)`, which runs before `code` with a
            time limit of its own (the code then gets four times what that took, where that is more
            than its limit), and defines `check(names, data, prepared)`, which gets the names
            that `code` defined and whose JSON-serialisable result is returned; it raises where the
            code is wrong. Empty: coming to the end is enough.
        data: For the check; JSON-serialisable.
        limits: None takes the defaults.

    Returns:
        What became of it; nothing that the code does is raised here.

    Raises:
        RuntimeError: The jail itself failed.
    """
    limits = limits or SandboxLimits()
    with tempfile.TemporaryDirectory(prefix="sandbox-", ignore_cleanup_errors=True) as folder:
        job = {
            "code": code, "check": check, "data": data, "folder": folder, "limits": asdict(limits),
            "token": secrets.token_hex(16),
        }  # fmt: skip
        report = _report(json.dumps(job).encode(), folder, limits)
    report["isolation"] = tuple(report["isolation"])
    return Ran(**report)


def _report(job: bytes, folder: str, limits: SandboxLimits) -> dict:
    """Run the jail and read what it reports."""
    jail = subprocess.Popen(
        [sys.executable, "-I", "-B", str(_JAIL)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=folder, start_new_session=True,
        env={"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8",
             "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        out, err = jail.communicate(
            job, timeout=limits.seconds + 5 * limits.prepare_seconds + _GRACE
        )
    except subprocess.TimeoutExpired:
        return {"ok": False, "reason": "time", "isolation": ()}
    finally:
        # its workers die with it: each asked the kernel for that
        _kill(jail)
    try:
        return json.loads(out)
    except ValueError:
        if jail.returncode == -signal.SIGKILL:
            return {"ok": False, "reason": "killed", "isolation": ()}
        raise RuntimeError(f"the jail failed: {err.decode(errors='replace')[-2000:]}") from None


def _kill(jail: subprocess.Popen) -> None:
    if jail.poll() is None:
        os.killpg(jail.pid, signal.SIGKILL)
        jail.communicate()
