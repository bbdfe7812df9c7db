"""`agentprim decide`, `calibrate` and `workflow run`: the library's own decisions, shown."""

import json
import re

import pytest

from agentprim import Decider
from agentprim.decide import Calibration

SPEC = """
experts:
  - name: solver
    system: You solve.
    duty: solves the task
    criterion: is it solved?
  - name: team
    kind: review
    options: {rounds: 1, inner: prefill}
router: rule
screening: decider
repairs: 0
budget: {calls: 6}
max_new_tokens: 4
"""


def test_a_judgement_is_the_library_s_own(call, folder, engine):
    done = call("decide", "a note", "is it so?", "--model", folder, "--json")
    assert done.exit_code == 0, done.stderr
    expected = Decider(engine).judge("is it so?", "a note")
    found = json.loads(done.stdout)
    assert found["probabilities"] == pytest.approx(expected.probabilities)
    assert found["tokens"] == expected.tokens


def test_options_and_levels_are_tables(call, folder, tmp_path):
    (tmp_path / "state.txt").write_text("a note")
    done = call(
        "decide", f"@{tmp_path}/state.txt", "which?", "--option", "red", "--option", "blue",
        "--none", "--model", folder,
    )  # fmt: skip
    assert all(word in done.stdout for word in ("red", "blue", "none of these", "confidence"))
    done = call("decide", "a note", "how much?", "--levels", "1-3", "--model", folder)
    assert "value" in done.stdout and done.exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--levels", "3-1"), "levels must be like 1-5"),
        (("--levels", "1-3", "--option", "a"), "levels must be left out"),
        (("--none",), "must be used with --option"),
        (("--option", "a"), "at least two"),
    ],
)
def test_bad_questions_are_one_line(call, options, message):
    done = call("decide", "a note", "which?", *options)
    assert done.exit_code == 2 and message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_calibration_is_fitted_reported_and_used(call, folder, tmp_path):
    rows = [{"state": f"note {n}", "question": "is it so?", "holds": n % 2 == 0} for n in range(12)]
    data, out = tmp_path / "data.jsonl", tmp_path / "c.json"
    data.write_text("\n".join(map(json.dumps, rows)) + "\n")
    done = call("calibrate", str(data), "--out", str(out), "--model", folder, "--json")
    assert done.exit_code == 0, done.stderr
    held = json.loads(done.stdout)["held_out"]["is it so?"]
    assert held["n"] == 6 and 0 <= held["ece"] <= 1
    temperature = Calibration.load(out).temperature("is it so?")
    plain, used = (
        json.loads(call("decide", "a", "is it so?", "--model", folder, "--json", *more).stdout)
        for more in ((), ("--calibration", str(out)))
    )
    assert plain["log_probs"] == used["log_probs"]
    assert (plain["probabilities"] == used["probabilities"]) == (temperature == 1.0)
    data.write_text('{"state": "x"}\n')
    done = call("calibrate", str(data), "--model", folder)
    assert done.exit_code == 2 and "got line 1" in done.stderr


def test_a_workflow_of_a_file_runs_and_shows_who_did_what(call, folder, tmp_path):
    spec, trace = tmp_path / "spec.yaml", tmp_path / "trace.jsonl"
    spec.write_text(SPEC)
    done = call(
        "workflow", "run", str(spec), "why?", "--model", folder, "--price-written", "2",
        "--trace", str(trace),
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    for word in ("solver (by rule)", "team (by rule)", "STOP", "screened", "execution", "cost"):
        assert word in done.stdout
    kinds = [json.loads(line)["kind"] for line in trace.read_text().splitlines()]
    assert kinds.count("route") == 3 and kinds.count("screen") == 2 and kinds[-1] == "answer"
    as_json = call("workflow", "run", str(spec), "why?", "--model", folder, "--json")
    assert json.loads(as_json.stdout)["finish"] == "stop"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experts: []", "experts: List should have at least 1 item"),
        ("experts: [{name: a, colour: red}]\nrouter: dice", "experts.0.colour.*router"),
        ("experts: [", "spec must be YAML"),
        ("experts: [{name: a, kind: review, options: {wheels: 3}}]", "options of a must be"),
    ],
)
def test_a_bad_file_is_one_line_that_names_every_fault(call, folder, tmp_path, text, message):
    (tmp_path / "spec.yaml").write_text(text)
    done = call("workflow", "run", str(tmp_path / "spec.yaml"), "why?", "--model", folder)
    assert done.exit_code == 2
    assert re.search(message, done.stderr), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_trace_that_cannot_be_written_is_said_before_a_model_is_loaded(call, tmp_path):
    spec, trace = tmp_path / "spec.yaml", tmp_path / "nowhere" / "trace.jsonl"
    spec.write_text(SPEC)
    done = call("workflow", "run", str(spec), "why?", "--model", "nobody", "--trace", str(trace))
    assert done.exit_code == 1 and "nowhere" in done.stderr and "nobody" not in done.stderr
