"""`agentprim bench`: checked first, then timed, then shown beside a plain copy."""

import json
import time
from dataclasses import replace

import pytest
import torch

from agentprim.cli import bench
from agentprim_kernels.bench import CASES, cases, seconds_of
from agentprim_kernels.dispatch import choose

SMALL = {"layers": 2, "tokens": 256}


@pytest.fixture
def small(monkeypatch):
    """Let every case be a small one."""
    one_layer = {name: lambda layers, make=make, **options: make(**SMALL, **options)
                 for name, make in CASES.items()}  # fmt: skip
    monkeypatch.setattr("agentprim_kernels.bench.runner.CASES", one_layer)


def test_each_op_is_shown_beside_plain_torch_and_a_copy(call, small, tmp_path):
    path = tmp_path / "out.json"
    done = call("bench", "--device", "cpu", "--json", str(path))
    assert done.exit_code == 0, done.stderr
    record = json.loads(path.read_text())
    assert record["machine"] == {
        "device": "cpu", "torch": torch.__version__, "threads": torch.get_num_threads(),
    }  # fmt: skip
    rows = {(row["op"], row["provider"]): row for row in record["rows"]}
    assert {op for op, _ in rows} == set(CASES)
    for (op, provider), row in rows.items():
        assert row["ms"] > 0 and row["gb_per_s"] > 0 and row["share_of_copy"] > 0
        assert f" {op} " in done.stdout and f" {provider} " in done.stdout
    for op in CASES:
        best = choose("attend" if op == "attend" else f"{op}_", "cpu")
        assert (op, best) in rows and (op, cases.EAGER) in rows


def test_one_op_alone(call, small, tmp_path):
    path = tmp_path / "out.json"
    assert call("bench", "store", "--device", "cpu", "--json", str(path)).exit_code == 0
    assert {row["op"] for row in json.loads(path.read_text())["rows"]} == {"store"}


def test_a_wrong_result_ends_it_before_anything_is_timed(call, monkeypatch):
    def wrong(**_):
        case = CASES["rotate"](**SMALL)
        return replace(case, providers=case.providers | {cases.EAGER: lambda keys: None})

    monkeypatch.setattr("agentprim_kernels.bench.runner.CASES", {"rotate": wrong})
    monkeypatch.setattr("agentprim_kernels.bench.runner.seconds_of", lambda *_, **__: 1 / 0)
    done = call("bench", "rotate", "--device", "cpu")
    assert done.exit_code == 1
    assert "rotate by torch eager is wrong in layer 0" in done.stderr


def test_one_row_that_was_not_written_is_a_wrong_result():
    case = CASES["store"](**SMALL)

    def all_but_one(k_cache, v_cache):
        case.providers["reference"](k_cache, v_cache)
        v_cache[1, 3, 0, 5] = torch.nan

    with pytest.raises(AssertionError, match="in layer 1: 1 of"):
        replace(case, providers=case.providers | {"x": all_but_one}).check("x")


@pytest.mark.parametrize("op", CASES)
def test_every_provider_but_the_compiled_one_agrees(op):
    case = CASES[op](**SMALL)
    for provider in case.providers:
        if provider != cases.COMPILED:
            case.check(provider)


def test_an_unknown_op_is_refused(call):
    done = call("bench", "fold")
    assert done.exit_code == 2 and "ops must be some of rotate" in done.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_refused(call):
    done = call("bench", "--device", "cuda")
    assert done.exit_code == 2 and "device must be" in done.stderr


def test_slow_work_is_not_called_for_ever():
    slow, fast = [], []
    seconds_of(lambda: slow.append(time.sleep(0.02)), lambda: fast.append(0), rounds=9, warmup=0,
               limit=0.03)  # fmt: skip
    assert len(slow) == 2 and len(fast) == 9


def test_a_machine_is_described_without_its_name():
    assert set(bench.machine("cpu")) == {"device", "torch", "threads"}
