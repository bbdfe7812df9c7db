"""A run that was killed goes on where it was."""

import importlib
import json
from pathlib import Path

import pytest

from agentprim.trust.journal import Journal, read
from agentprim.trust.verify import verify

# the package has a function of that name
verify_module = importlib.import_module("agentprim.trust.verify")
ABOUT = {"fingerprint": "x", "plan": [1]}


def test_records_survive_and_a_torn_last_line_is_cut_off(tmp_path):
    path = tmp_path / "deep" / "journal.jsonl"
    journal = Journal(path, ABOUT)
    journal.add({"key": "a", "rows": []})
    journal.add({"key": "b", "rows": [1]})
    with path.open("a") as file:
        file.write('{"key": "c", "rows": [')
    again = Journal(path, ABOUT)
    assert again.records == {"a": {"key": "a", "rows": []}, "b": {"key": "b", "rows": [1]}}
    again.add({"key": "c", "rows": []})
    assert set(Journal(path, ABOUT).records) == {"a", "b", "c"}


def test_a_journal_of_something_else_is_begun_anew(tmp_path):
    Journal(tmp_path / "j", ABOUT).add({"key": "a"})
    assert Journal(tmp_path / "j", {**ABOUT, "fingerprint": "y"}).records == {}
    assert Journal(tmp_path / "j", ABOUT).records == {}


def test_a_header_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "j.jsonl"
    Journal(path, ABOUT).add({"key": "a"})
    before = path.read_bytes()

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    for name, about in (("j.jsonl", {"fingerprint": "y"}), ("new.jsonl", ABOUT)):
        with pytest.raises(KeyboardInterrupt):
            Journal(tmp_path / name, about)
    assert path.read_bytes() == before and list(tmp_path.glob("*.jsonl")) == [path]


def test_a_journal_that_shall_not_be_renewed_is_refused_and_names_what_differs(tmp_path):
    path = tmp_path / "j"
    Journal(path, {"limits": {"steps": 40, "inner": "text"}, "seed": 0}).add({"key": "a"})
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"limits.steps 40 where this run has 20$"):
        Journal(path, {"limits": {"steps": 20, "inner": "text"}, "seed": 0}, renew=False)
    assert path.read_bytes() == before
    same = {"limits": {"steps": 40, "inner": "text"}, "seed": 0}
    assert set(Journal(path, same, renew=False).records) == {"a"}


def test_reading_touches_nothing_and_the_last_record_of_a_key_counts(tmp_path):
    path = tmp_path / "j"
    journal = Journal(path, {"sizes": (1, 2)})
    journal.add({"key": "a", "n": 1}, {"key": "b", "n": 1})
    journal.add({"key": "a", "n": 2})
    with path.open("a") as file:
        file.write('{"key": "c"')
    before = path.read_bytes()
    about, records = read(path)
    assert about == {"sizes": [1, 2]} and {k: r["n"] for k, r in records.items()} == {
        "a": 2,
        "b": 1,
    }
    assert path.read_bytes() == before
    assert set(Journal(path, {"sizes": (1, 2)}, renew=False).records) == {"a", "b"}


@pytest.mark.parametrize("text", ["no json\n", '["a list"]\n', '{"other": 1}\n'])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match="must"):
        Journal(path, ABOUT)
    assert path.read_text() == text


def test_a_killed_measurement_goes_on_and_gives_the_same_numbers(
    make_engine, measured, plan, tmp_path, monkeypatch
):
    engine, out = make_engine(), tmp_path / "items.jsonl"
    done = []

    def killed(lab, item, task):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(task.key)
        return measure(lab, item, task)

    measure = verify_module.measure
    monkeypatch.setattr(verify_module, "measure", killed)
    with pytest.raises(KeyboardInterrupt):
        verify(engine, plan=plan, out=out)
    monkeypatch.setattr(verify_module, "measure", lambda *a: done.append(a[2].key) or measure(*a))
    resumed = verify(engine, plan=plan, out=out)
    assert done == [task.key for task in plan]
    for a, b in zip(measured.fidelity, resumed.fidelity, strict=True):
        assert (a.way, a.senders, a.receiver_tokens) == (b.way, b.senders, b.receiver_tokens)
        assert a.kl_text.mean == pytest.approx(b.kl_text.mean, abs=1e-9)
    assert len(out.read_text().splitlines()) == 1 + len(plan)
    assert json.loads(out.read_text().splitlines()[1])["key"] == plan[0].key
