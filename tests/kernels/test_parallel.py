"""Helper threads of the compiled ops: kept between calls, and never in the way."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases

pytestmark = pytest.mark.usefixtures("compiled")
MEGABYTES = 4


def work(seed=0):
    """Arguments of `rotate_` with enough bytes for several threads."""
    pages = MEGABYTES * 2**20 // (4 * 4 * 16 * 64 * 4)
    return {
        "k_cache": cases.cache(seed, torch.float32, layers=4, pages=pages, heads=4, page_size=16,
                               dim=64),
        "page_table": torch.arange(pages, dtype=torch.int32),
        "spans": torch.tensor([[0, 0, pages * 16, 0, -1]], dtype=torch.int32),
        "rotation": cases.rotation([50], 4, 64),
    }  # fmt: skip


def test_callers_at_once_share_the_helpers(monkeypatch):
    want = work()
    ak.rotate_(**want, impl="cpp")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)

    def turn(_):
        case = work()
        for _ in range(20):
            case["k_cache"].copy_(fresh)
            ak.rotate_(**case, impl="cpp")
        return torch.equal(case["k_cache"], want["k_cache"])

    fresh = work()["k_cache"]
    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(turn, range(4)))


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_a_forked_child_begins_with_helpers_of_its_own():
    code = """
import os, torch
torch.set_num_threads(1)  # those of torch itself do not survive a fork
torch.get_num_threads = lambda: 3
import agentprim_kernels as ak
from tests.kernels.test_parallel import work
case = work()
ak.rotate_(**case, impl="cpp")
child = os.fork()
ak.rotate_(**case, impl="cpp")
if child == 0:
    threads = len(os.listdir("/proc/self/task"))
    os._exit(7 if threads == 3 and case["k_cache"].isfinite().all() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=root, timeout=60,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_helpers_sleep_between_calls():
    """A thread that spins would use up seconds of the processor while this one waits."""
    code = """
import time, torch
torch.get_num_threads = lambda: 3
import agentprim_kernels as ak
from tests.kernels.test_parallel import work
ak.rotate_(**work(), impl="cpp")
before = time.process_time()
time.sleep(0.3)
assert time.process_time() - before < 0.1
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, timeout=60,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
