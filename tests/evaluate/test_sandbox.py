"""Code that misbehaves is stopped in time, named, and leaves nothing behind."""

import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from agentprim.evaluate.sandbox import SandboxLimits, run_code

LIMITS = SandboxLimits(seconds=1.0, memory_mib=256, processes=8)
MARK = f"600.{os.getpid()}"
LOOP = "while True:\n    pass\n"
WRONG = {
    "an endless loop": (LOOP, {"time"}),
    "a child that sleeps": (f"import subprocess\nsubprocess.run(['sleep', '{MARK}'])\n", {"time"}),
    "memory without bound": (
        "held = []\nwhile True:\n    held.append(bytearray(1 << 20))\n", {"memory", "time"},
    ),
    "no ear for SIGTERM": (
        f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{LOOP}", {"time"},
    ),
    "sys.exit replaced": (
        f"import sys, os\nsys.exit = os._exit = lambda *code: None\n{LOOP}", {"time"},
    ),
}  # fmt: skip


def state() -> tuple:
    """Describe what of this process code could have changed."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    return (
        os.getcwd(), dict(os.environ), os.getuid(), threading.active_count(), sys.exit,
        [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD)],
        [resource.getrlimit(kind) for kind in (resource.RLIMIT_AS, resource.RLIMIT_NPROC)],
        children.read_text() if children.exists() else "", os.umask(os.umask(0o22)),
    )  # fmt: skip


def sleepers() -> list[str]:
    """List processes that a candidate of this test run started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [str(path)] if MARK.encode() in path.read_bytes().split(b"\0") else []
        except OSError:
            continue
    return found


@pytest.mark.parametrize("name", WRONG)
def test_wrong_code_is_stopped_within_its_limit_and_leaves_nothing(name):
    code, reasons = WRONG[name]
    before, start = state(), time.monotonic()
    ran = run_code(code, limits=LIMITS)
    took = time.monotonic() - start
    assert not ran.ok and ran.reason in reasons
    assert ran.seconds < LIMITS.seconds + 2 and took < LIMITS.seconds + 4
    assert not sleepers()
    assert state() == before


def test_a_right_one_that_takes_half_a_second_passes():
    ran = run_code("import time\ntime.sleep(0.5)\nprint('done')", limits=LIMITS)
    assert ran.ok and ran.printed == "done\n" and ran.seconds >= 0.5


def test_the_time_limit_is_what_decides():
    code = "import time\ntime.sleep(0.5)"
    assert run_code(code, limits=SandboxLimits(seconds=0.2)).reason == "time"


def test_descendants_that_left_the_group_are_ended_too():
    code = f"""
import os, subprocess, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp('sleep', ['sleep', '{MARK}'])
    os._exit(0)
time.sleep(0.1)
"""
    assert run_code(code, limits=LIMITS).ok
    assert not sleepers()


@pytest.mark.parametrize("leave", ["import os\nos._exit(0)", "raise SystemExit(0)"])
def test_leaving_early_is_not_passing(leave):
    ran = run_code(leave, check="def check(names, data, prepared):\n    return True", limits=LIMITS)
    assert not ran.ok and ran.reason == "exit" and ran.value is None


def test_a_check_gets_names_data_and_what_it_prepared():
    check = """
def prepare(data):
    return [item * 2 for item in data]

def check(names, data, prepared):
    assert [names['double'](item) for item in data] == prepared
    return len(data)
"""
    code = "def double(x):\n    return x + x\n"
    assert run_code(code, check=check, data=[1, 2], limits=LIMITS).value == 2
    wrong = run_code(code.replace("+", "-"), check=check, data=[1, 2], limits=LIMITS)
    assert not wrong.ok and wrong.error.startswith("AssertionError")


def test_files_environment_and_network_are_out_of_reach(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "abc")
    tmp_path.chmod(0o777)
    code = f"""
import os, socket
found = ['SECRET_OF_THE_CALLER' in os.environ]
open('own', 'w').write('mine')
try:
    open({str(tmp_path / "leak")!r}, 'w').write('x')
except OSError:
    found.append('files')
try:
    socket.create_connection(('192.0.2.1', 9), timeout=0.2)
except TimeoutError:
    pass
except OSError:
    found.append('network')
print(os.getcwd(), *found)
"""
    ran = run_code(code, limits=LIMITS)
    folder, environment, *blocked = ran.printed.split()
    assert ran.ok and environment == "False" and not Path(folder).exists()
    for kind in ("files", "network"):
        if kind in ran.isolation:
            assert kind in blocked
    assert (tmp_path / "leak").exists() == ("files" not in ran.isolation)


def test_processes_files_and_disk_are_limited():
    code = f"""
import os, time
def count(make):
    for done in range(40):
        try:
            make(done)
        except OSError:
            return done
    return 40
def fork(number):
    if os.fork() == 0:
        os.execvp('sleep', ['sleep', '{MARK}'])
def write(number):
    with open(f'f{{number}}', 'wb') as file:
        file.write(bytes(1 << 20))
held = []
print(count(write), count(lambda number: held.append(open(os.devnull))), count(fork))
"""
    limits = SandboxLimits(seconds=5, processes=8, disk_mib=4, files=24)
    ran = run_code(code, limits=limits)
    written, opened, forked = map(int, ran.printed.split())
    assert ran.ok and opened < 24 and not sleepers()
    assert written <= 4 or "files" not in ran.isolation
    assert forked < 8 or "user" not in ran.isolation
    large = run_code("open('f', 'wb').write(bytes(5 << 20))", limits=limits)
    assert not large.ok and large.error.startswith("OSError")


def test_output_is_cut():
    ran = run_code("print('x' * 1_000_000)", limits=SandboxLimits(output=100))
    assert ran.ok and ran.printed == "x" * 100


def test_code_that_ends_its_supervisor_gets_no_pass():
    ran = run_code(
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n" + LOOP, limits=LIMITS
    )
    assert not ran.ok and ran.reason in ("time", "killed", "error")


def test_limits_are_checked():
    with pytest.raises(ValueError, match="seconds must be positive, got 0"):
        SandboxLimits(seconds=0)
    with pytest.raises(ValueError, match="need must be among"):
        SandboxLimits(need=("magic",))
