"""Several workers give the rows of one, and write them once."""

import sys

import pytest

from agentprim.evaluate.job import Registry
from agentprim.evaluate.run import load, run
from agentprim.evaluate.workers.cluster import Cluster
from agentprim.evaluate.workers.desk import Model
from agentprim.evaluate.workers.processes import Processes
from tests.evaluate.run import stubs
from tests.evaluate.run.conftest import SETTING, changed, rows

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
