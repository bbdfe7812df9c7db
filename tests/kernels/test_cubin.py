"""Compile kernels for real architectures, without a GPU, and hold them to the committed report."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.compile_report import MOVERS, REPORT, UPDATE, differences, key_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows():
    """Return the report's rows of all Triton versions."""
    return [row for rows in json.loads(REPORT.read_text()).values() for row in rows]


@pytest.mark.slow
def test_a_fresh_compilation_equals_the_report(tmp_path):
    """Compiler and interpreter cannot share a process; a sample is compiled, with no cache."""
    rest = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "bench.compile_report", "--check"],
        cwd=ROOT, env=rest | {"TRITON_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True,
        timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, f"kernels compile to something else now:\n{done.stdout}" + (
        done.stderr and f"\n{done.stderr}"
    )


def test_a_difference_is_named_with_both_values(rows):
    row = next(row for row in rows if row["op"] == "rotate")
    assert differences([row], rows) == []
    changed = row | {"registers": 200, "stores": {"2": 9}}
    assert differences([changed], [row]) == [
        f"{key_of(row)}: registers {row['registers']} -> 200",
        f"{key_of(row)}: stores {row['stores']} -> {{'2': 9}}",
    ]
    assert differences([row], []) == [f"{key_of(row)}: not in the report"]


def test_a_report_without_this_compiler_fails_and_names_the_command(tmp_path, capsys, monkeypatch):
    from bench import compile_report

    monkeypatch.setattr(compile_report, "variants", lambda sample: ())
    path = tmp_path / "report.json"
    path.write_text("{}")
    assert compile_report.check(path) == 1
    assert f"run `{UPDATE}`" in capsys.readouterr().out


def test_every_kernel_is_reported_for_every_architecture(rows):
    kernels = {(row["sm"], row["kernel"]) for row in rows}
    names = {f"{op}_kernel" for op in (*MOVERS, "attend", "merge")}
    assert kernels == {(sm, name) for sm in (80, 90, 100) for name in names}


def test_nothing_spills(rows):
    spilled = [key_of(row) for row in rows if row["stack_bytes"] or row["local_accesses"]]
    assert spilled == []
    assert max(row["registers"] for row in rows) <= 255


def test_keys_and_values_move_in_16_byte_accesses(rows):
    """Without alignment known to the compiler, bf16 rows would move 2 bytes at a time."""
    for row in rows:
        if row["op"] in MOVERS:
            loads, stores = row["loads"], row["stores"]
            assert set(stores) == {"16"}, row
            assert set(loads) <= {"4", "8", "16"}, row  # 4 and 8: tables and slots
            assert loads["16"] >= stores["16"], row
            # room to search the span table; turning pairs moves nothing between threads
            assert row["shared_bytes"] <= 1024, row
        elif row["kernel"] == "attend_kernel":
            assert set(row["loads"]) <= {"4", "8", "16"}, row
            assert row["loads"]["16"] >= 12, row


def test_one_launch_moves_all_layers(rows):
    assert {row["launches"] for row in rows if row["op"] in MOVERS} == {1}
    assert max(row["launches"] for row in rows) == 2  # attend and its merge


def test_two_programs_of_attend_fit_the_shared_memory_of_any_gpu(rows):
    assert max(row["shared_bytes"] for row in rows) <= 99 * 1024
