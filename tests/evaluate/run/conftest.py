"""Runs of a tiny model that lies in a folder."""

from dataclasses import replace

import pytest

from agentprim import Engine
from agentprim.evaluate.base import Limits
from agentprim.evaluate.job import Registry
from agentprim.evaluate.run import load, run
from agentprim.evaluate.setting import Setting
from agentprim.evaluate.workers.desk import Model
from agentprim.evaluate.workers.serial import Serial
from agentprim.trust.journal import read
from tests.evaluate.run import stubs
from tests.support.saved import saved

SETTING = Setting(
    tasks=("letters",), methods=("single", "reader_kv"), batch=3,
    limits=Limits(max_new_tokens=5, temperature=0.8),
)  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def other_folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("other"), "qwen3")


@pytest.fixture(scope="session")
def engine(folder):
    return Engine.from_pretrained(folder, pool_tokens=8192)


@pytest.fixture
def go(engine, folder):
    """Return a function that runs a setting in this process."""

    def start(out, setting=SETTING, registry: Registry = stubs.REGISTRY, **options):
        workers = Serial(Model(name=folder), registry, load=lambda: engine)
        run(load(setting, registry), workers, "tiny", out, **options)
        return rows(out)

    return start


def rows(out) -> dict[str, dict[str, dict]]:
    """Read all rows of a run, without what no two runs share."""
    found = {}
    for path in sorted(out.glob("*.jsonl")):
        about, records = read(path)
        found[path.stem] = {key: timeless(record) for key, record in records.items()}
        assert about["model"]["name"] == "tiny"
    return found


def timeless(record: dict) -> dict:
    """Leave out seconds and the number of threads."""
    clean = {k: v for k, v in record.items() if k not in ("seconds", "threads")}
    if "usage" in clean:
        usage = clean["usage"]
        roles = {role: _no_time(cost) for role, cost in usage["roles"].items()}
        clean["usage"] = {"total": _no_time(usage["total"]), "roles": roles}
    return clean


def _no_time(cost: dict) -> dict:
    return {name: value for name, value in cost.items() if name != "seconds"}


def changed(**fields) -> Setting:
    return replace(SETTING, **fields)
