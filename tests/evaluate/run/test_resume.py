"""A run that was killed goes on where it was, and gives what an uninterrupted one gives."""

import json

import pytest

from agentprim.evaluate.base import Limits
from agentprim.evaluate.job import Registry
from agentprim.evaluate.run import load, run
from agentprim.evaluate.workers.desk import Model
from agentprim.evaluate.workers.serial import Serial
from tests.evaluate.run import stubs
from tests.evaluate.run.conftest import SETTING, changed, rows
from tests.evaluate.run.stubs import counting


@pytest.fixture(scope="module")
def whole(tmp_path_factory, engine, folder):
    out = tmp_path_factory.mktemp("whole")
    workers = Serial(Model(name=folder), stubs.REGISTRY, load=lambda: engine)
    run(load(SETTING, stubs.REGISTRY), workers, "tiny", out)
    return rows(out)


def test_a_killed_run_goes_on_and_equals_an_uninterrupted_one(go, whole, tmp_path):
    _, registry = counting(killed_after=2)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, registry=registry)
    first = rows(tmp_path)
    assert len(first["letters.single"]) == 6 and not first["letters.reader_kv"]
    single, registry = counting()
    assert go(tmp_path, registry=registry) == whole
    assert single.seen == [1]  # the seventh item, and nothing again
    single, registry = counting()
    assert go(tmp_path, registry=registry) == whole and single.seen == []


def test_a_torn_last_line_is_answered_again_and_nothing_else(go, whole, tmp_path):
    go(tmp_path)
    path = tmp_path / "letters.single.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 20])
    single, registry = counting()
    again = go(tmp_path, registry=registry)
    assert single.seen == [1]
    assert len(path.read_text().splitlines()) == 1 + 7
    assert again == whole


def test_a_header_that_does_not_fit_is_refused_with_one_clear_error(go, tmp_path):
    go(tmp_path, changed(methods=("single",)))
    before = (tmp_path / "letters.single.jsonl").read_bytes()
    other = changed(methods=("single",), limits=Limits(max_new_tokens=6, temperature=0.8))
    with pytest.raises(ValueError, match="limits.max_new_tokens 5 where this run has 6$"):
        go(tmp_path, other)
    with pytest.raises(ValueError, match="seed 0 where this run has 1$"):
        go(tmp_path, changed(methods=("single",), seed=1))
    assert (tmp_path / "letters.single.jsonl").read_bytes() == before


def test_other_methods_may_join_a_run(go, whole, tmp_path):
    go(tmp_path, changed(methods=("single",)))
    assert go(tmp_path, changed(methods=("reader_kv",))) == whole


def test_what_is_missing_is_kept_until_it_is_loaded(engine, folder, tmp_path):
    out, told, lost = tmp_path / "out", [], {"letters", "more", "again"}

    class Lost(stubs.Letters):
        def __init__(self, name):
            super().__init__(1)
            self.name = name

        def load(self, *given):
            if self.name in lost:
                raise OSError(f"no {self.name}")
            return super().load(*given)

    registry = Registry(task=Lost, method=stubs.method)
    workers = Serial(Model(name=folder), registry, load=lambda: engine)
    for tasks, now in ((("x", "letters", "more"), "-"), (("y", "again"), "-"),
                       (("letters", "again"), "letters")):  # fmt: skip
        lost.discard(now)
        setting = changed(tasks=tasks, methods=("single",))
        run(load(setting, registry), workers, "tiny", out)
        told.append(json.loads((out / "missing.json").read_text()))
    assert told[0] == {"letters": "no letters", "more": "no more"}
    assert told[1] == told[0] | {"again": "no again"}
    assert told[2] == {"more": "no more", "again": "no again"}


def test_the_header_says_what_was_run(go, tmp_path):
    go(tmp_path, changed(methods=("reader_kv",), limit=2))
    about = json.loads((tmp_path / "letters.reader_kv.jsonl").read_text().splitlines()[0])["about"]
    assert about["limits"]["temperature"] == 0.8 and (about["seed"], about["limit"]) == (0, 2)
    assert (
        len(about["model"]["fingerprint"]) == 64 and about["model"]["class"] == "LlamaForCausalLM"
    )
    assert {"agentprim", "torch", "transformers"} <= set(about["versions"])
    assert about["task"]["n"] == 2 and len(about["task"]["items"]) == 16
    assert len(about["method"]["source"]) == len(about["prompts"]) == 16
    assert about["method"]["twin"] == "reader_text"
    assert str(tmp_path) not in json.dumps(about)


def test_two_runs_do_not_write_into_one_folder(go, tmp_path):
    def second(step):
        if step.job is not None:
            with pytest.raises(ValueError, match="another run writes"):
                go(tmp_path)
            raise StopIteration

    with pytest.raises(StopIteration):
        go(tmp_path, report=second)
