"""The GPU check must not meet its own mistakes for the first time on a GPU."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bench import gpu_attend, gpu_cases, gpu_check, gpu_graphs, gpu_moves, gpu_targets

ROOT = Path(__file__).parents[2]


def interpreted(script, out):
    """Run a script of `bench` on the CPU, in a process of its own."""
    command = [sys.executable, f"bench/{script}.py", "--device", "cpu", "--out", str(out)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(out.read_text()), done.stdout


@pytest.mark.slow
def test_every_section_runs_under_the_interpreter(tmp_path):
    report, printed = interpreted("gpu_check", tmp_path / "report.json")
    rows = {title: part["rows"] for title, part in report.items()
            if isinstance(part, dict) and "rows" in part}  # fmt: skip
    assert not any("cut_short" in report[title] or "error" in report[title] for title in rows)
    assert {row["op"] for row in rows["checks"]} == set(gpu_cases.FUNCTIONS)
    assert {row["op"] for row in rows["checks in graphs"]} == set(gpu_graphs.OPS)
    for row in (*rows["checks"], *rows["checks in graphs"]):
        assert row["largest_difference"] < 0.03
    timed = {"moves": 10, "few tokens": 10, "decode": 2, "cascade": 1, "prefill": 2}
    assert {title: len(rows[title]) for title in timed} == timed
    assert all(row["launches"] == 1 for row in rows["few tokens"])
    assert len(report["targets"]) == 5 and all(
        one["target"] in printed for one in report["targets"]
    )


@pytest.mark.slow
def test_tuning_tries_sizes_and_puts_the_chosen_ones_back(tmp_path):
    report, printed = interpreted("tune", tmp_path / "report.json")
    assert all("microseconds" in row for row in report["rows"]), report["rows"]
    cases = {row["case"] for row in report["rows"]}
    assert len(cases) == 3 + 5 and all(f"'{case}'" in printed for case in cases)


def test_a_section_keeps_what_it_had_when_it_fails_or_time_is_up(tmp_path, monkeypatch):
    out = tmp_path / "report.json"
    report = gpu_check.Report(out, {})

    def failing():
        yield {"row": 1}
        raise RuntimeError("no memory")

    report.section("failing", 60, failing())
    report.section("endless", 0, ({"row": n} for n in itertools.count()))
    monkeypatch.setattr(gpu_check, "BUDGET", -1)
    report.section("after the end", 60, ({"row": n} for n in itertools.count()))
    found = json.loads(out.read_text())
    assert found["failing"]["rows"] == [{"row": 1}]
    assert found["failing"]["error"] == "RuntimeError: no memory"
    for title in ("endless", "after the end"):
        assert len(found[title]["rows"]) == 1 and "cut_short" in found[title]
    assert report.failures() == ["failing: RuntimeError: no memory"]


def test_targets_say_by_how_far():
    shares = [(64, 0.2), (4096, 0.9), (32768, 0.7)]
    report = {
        "moves": {"rows": [{"op": "rotate", "tokens": n, "share_of_copy": s} for n, s in shares]},
        "few tokens": {"rows": [{"microseconds": 4.0, "launches": 1}]},
        "decode": {"rows": [{"spans": 8, "against_one_span": 1.01}]},
    }
    found = gpu_targets.targets(report)
    assert [(one["met"], one["measured"], one["by"]) for one in found] == [
        (False, 0.7, "17.6%"), (True, 4.0, "50.0%"), (True, 1, "0.0%"), (True, 1.01, "1.9%"),
        (False, None, None),
    ]  # fmt: skip
    assert gpu_targets.show(found)[0].startswith("missed rotate, 4096 tokens or more")


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


@pytest.fixture
def by_reference(monkeypatch):
    """Let the reference answer timed calls; list what was asked for."""
    asked = []
    for name in gpu_cases.FUNCTIONS.values():
        function = getattr(gpu_moves.ops, name)

        def run(*args, _run=function, impl, **options):
            asked.append(impl)
            return _run(*args, impl="reference", **options)

        monkeypatch.setattr(gpu_moves.ops, name, run)
    return asked


def test_timed_moves_touch_the_tokens_they_name(by_reference):
    bench = gpu_moves.Bench((2, 2, 8), 40, "cpu")
    for number in (1, 20, 40):
        for name, works in bench.works(number):
            written = (
                bench.kept if name in ("rotate", "rotate adjacent pairs", "store") else bench.out
            )
            if written is bench.out:
                written.fill_(77)  # what an earlier one left there could be the same
            before = written.clone()
            works[-1]()
            changed = (written != before).any(-1).flatten(0, 1)  # [2 * layers, pages, heads, slots]
            tokens = changed.any(2).flatten(1).sum(1)
            assert tokens.max() == number, name
            per_token = bench.moved(name, number) // (2 * number * 2 * 8 * 2)
            assert (tokens > 0).sum() == per_token, name  # layers, twice with values
    assert set(by_reference) == {"triton"}


def test_copies_move_as_many_bytes_as_the_ops(by_reference):
    bench = gpu_moves.Bench((2, 2, 8), 64, "cpu")
    for name in ("rotate", "store"):
        for number in (1, 20, 64):
            bench.out.zero_()
            works = bench.copy(name, number)
            for work in works:
                work()
            assert (bench.out != 0).sum() * 4 == len(works) * bench.moved(name, number)


def test_timed_attention_is_the_same_together_and_row_by_row(by_reference):
    rows = gpu_attend.Rows(gpu_attend.TINY, [[(9, 7), (0, 40)], [(0, 40)]], 1, "cpu")
    assert rows.cascade is not None and rows.bytes_read == 2 * 16 * 2 * 47
    once, each = (rows.works(together)[1]() for together in (True, False))
    assert torch.equal(once[0], each[0]) and once[1].isfinite().all()
    assert gpu_attend.Rows(gpu_attend.TINY, [[(0, 40)], [(3, 40)]], 1, "cpu").cascade is None
