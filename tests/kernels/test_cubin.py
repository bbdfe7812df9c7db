"""Compile the kernels for real architectures, without a GPU, and read what came out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOVERS = ("rotate", "store", "materialize", "select")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Compile a sample afresh: compiler and interpreter cannot share a process."""
    folder = tmp_path_factory.mktemp("cubin")
    rest = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    command = [sys.executable, "bench/compile_report.py", "--quick", "--out", folder / "out.json"]
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, env=rest | {"TRITON_CACHE_DIR": str(folder / "cache")},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = json.loads((folder / "out.json").read_text()).values()
    return report


@pytest.mark.slow
def test_every_kernel_compiles_for_every_architecture(rows):
    kernels = {(row["sm"], row["kernel"]) for row in rows}
    names = {f"{op}_kernel" for op in (*MOVERS, "attend", "merge")}
    assert kernels == {(sm, name) for sm in (80, 90, 100) for name in names}


@pytest.mark.slow
def test_nothing_spills(rows):
    assert all(row["stack_bytes"] == 0 and row["local_accesses"] == 0 for row in rows)
    assert max(row["registers"] for row in rows) <= 255


@pytest.mark.slow
def test_keys_and_values_move_in_16_byte_accesses(rows):
    """Without alignment known to the compiler, bf16 rows would move 2 bytes at a time."""
    for row in rows:
        if row["op"] in MOVERS:
            loads, stores = row["loads"], row["stores"]
            assert set(stores) == {"16"}, row
            assert set(loads) <= {"4", "8", "16"}, row  # 4 and 8: tables and slots
            assert loads["16"] >= stores["16"], row
            assert row["shared_bytes"] == 0, row  # turning pairs moves nothing between threads
        elif row["kernel"] == "attend_kernel":
            assert set(row["loads"]) == {"4", "16"}, row
            assert row["loads"]["16"] >= 16, row


@pytest.mark.slow
def test_one_launch_moves_all_layers(rows):
    assert {row["launches"] for row in rows if row["op"] in MOVERS} == {1}
    assert max(row["launches"] for row in rows) == 2  # attend and its merge
