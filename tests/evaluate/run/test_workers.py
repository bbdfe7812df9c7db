"""Several workers give the rows of one, and write them once."""

import subprocess
import sys

import pytest

from agentprim.evaluate.job import Registry
from agentprim.evaluate.run import load, run
from agentprim.evaluate.workers.cluster import Cluster
from agentprim.evaluate.workers.desk import Model
from agentprim.evaluate.workers.processes import Processes
from agentprim.trust.journal import read
from tests.evaluate.run import stubs
from tests.evaluate.run.conftest import SETTING, changed, rows, timeless
from tests.support.saved import saved
from tests.support.torchrun import TORCHRUN, environment

FAILING = changed(methods=("single", "fails"))


def same_as_serial(go, workers, tmp_path, *settings):
    """Hold runs to what one worker gives, row by row, headers included."""
    for number, setting in enumerate(settings):
        here, there = tmp_path / f"one{number}", tmp_path / f"two{number}"
        serial = go(here, setting)
        seen = []
        run(load(setting, stubs.REGISTRY), workers, "tiny", there, report=seen.append)
        assert rows(there) == serial and sum(map(len, serial.values())) == 14
        for path in here.glob("*.jsonl"):
            assert path.open().readline() == (there / path.name).open().readline()
        assert [step.done for step in seen][-1] == 14 and len(seen) == 7


def model(folder) -> Model:
    return Model(name=folder, pool_tokens=8192)


@pytest.mark.slow
def test_two_processes_equal_one(go, folder, tmp_path):
    with Processes(model(folder), stubs.REGISTRY, 2) as workers:
        same_as_serial(go, workers, tmp_path, FAILING)


@pytest.mark.slow
def test_two_workers_of_a_ray_cluster_equal_one(go, folder, tmp_path):
    pytest.importorskip("ray")
    with Cluster(model(folder), stubs.REGISTRY, 2) as workers:
        same_as_serial(go, workers, tmp_path, SETTING)


@pytest.mark.slow
def test_two_processes_that_hold_one_model_equal_one(tmp_path):
    folder = saved(tmp_path / "model", vocab_size=104, max_position_embeddings=8192)
    pieces, alone = tmp_path / "pieces", tmp_path / "alone"
    for out, start, more in (
        (alone, [sys.executable], []),
        (pieces, TORCHRUN, ["--tp-plan", "auto"]),
    ):
        command = [*start, "-m", "agentprim", "eval", "--out", str(out),
                   "--model", folder, "--device", "cpu", "--pool-tokens", "30000",
                   "--tasks", "notes", "--limit", "4", "--batch", "3", "--steps", "2",
                   "--max-new-tokens", "5", "--methods", "single,review,lite", *more]  # fmt: skip
        done = subprocess.run(command, env=environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for path in alone.glob("*.jsonl"):
        about, records = read(path)
        other, found = read(pieces / path.name)
        assert other == about and len(records) == 4
        assert not any("failed" in record for record in records.values())
        assert {k: timeless(r) for k, r in found.items()} == {
            k: timeless(r) for k, r in records.items()
        }
    assert len(list(pieces.glob("*.jsonl"))) == 3


def test_a_cluster_without_ray_is_refused_by_name(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"ray must be installed.*agentprim\[ray\]"):
        Cluster(model(folder), stubs.REGISTRY)


def test_no_workers_are_refused(folder):
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        Processes(model(folder), stubs.REGISTRY, 0)


def test_a_model_may_be_placed_by_transformers(folder):
    pytest.importorskip("accelerate")
    engine = Model(name=folder, pool_tokens=512, device_map="auto").load()
    assert len(engine.generate("Hi", max_new_tokens=2).ids) <= 2
    with pytest.raises(ValueError, match="nowhere"):
        Model(name=folder, device_map="nowhere").load()


def test_registries_travel_to_other_processes():
    import pickle

    assert isinstance(pickle.loads(pickle.dumps(stubs.REGISTRY)), Registry)
