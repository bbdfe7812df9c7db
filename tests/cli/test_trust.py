"""`agentprim verify` and `agentprim inspect`: certificates and traces, shown."""

import json

import pytest

from agentprim import Certificate, Planning, Voting
from agentprim.cli.trace import story
from agentprim.trust import verify as verify_engine
from agentprim.trust.measure import Task
from tests.cli.conftest import QUESTION
from tests.cli.test_faults import one_line

PLAN = [Task(index=0, senders=1, lengths=(64,)), Task(index=0, senders=4, lengths=(900,))]


@pytest.fixture(autouse=True)
def few_items(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def few(engine, full, progress, **options):
        return verify_engine(engine, full, progress, plan=PLAN, **options)

    # the same measurement, of two items
    monkeypatch.setattr("agentprim.cli.verify.verify_engine", few)


def test_verify_shows_what_it_writes_and_leaves_out_what_is_not_proved(call, folder, tmp_path):
    path = tmp_path / "certificate.json"
    done = call("verify", folder, "--json", str(path), "--out", str(tmp_path / "items.jsonl"))
    assert done.exit_code == 0, done.stderr
    certificate = Certificate.from_json(path.read_text())
    assert "measured 2 of 2 items" in done.stderr
    assert certificate.items == 1 and {row.senders for row in certificate.fidelity} == {1}
    shown = " ".join(done.stdout.split())
    assert "1 of 2 tasks were left out: LlamaForCausalLM uses RoPE" in shown
    for row in certificate.fidelity:
        cells = [str(row.way).split()[0].strip(","), f"{row.kl_text.mean:.3f}"]
        if row.kl_text.mean < 0.995:
            assert any(all(c in line for c in cells) for line in done.stdout.splitlines()), cells
    assert "machinery" in shown and "as spans" in shown
    assert len((tmp_path / "items.jsonl").read_text().splitlines()) == 3


def test_inspect_shows_who_handed_what_to_whom(call, engine, tmp_path):
    answer = Planning(engine, 2, inner="prefill")(QUESTION, max_new_tokens=4)
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in story(answer)))
    done = call("inspect", str(path))
    assert done.exit_code == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    events = [e.to_dict() for e in answer.trace if e.kind == "handover"]
    assert events
    for event in events:
        assert any(
            row[:3] == [event["sender"], event["role"], str(event["tokens"])] for row in rows
        ), event
        assert all(f"{delta:+d}" in done.stdout for delta in event["deltas"])
    assert "totals by role" in done.stdout and "answer: " in done.stdout
    total = sum(cost.prefilled for cost in answer.usage.roles.values())
    assert any(row[:1] == ["all"] and str(total) in row for row in rows)


def test_inspect_shows_decisions_the_certified_kl_and_a_missing_rotation(call, tmp_path):
    path = tmp_path / "trace.jsonl"
    events = [
        {"kind": "handover", "role": "b", "sender": "a", "tokens": 7, "spans": 1, "deltas": [12],
         "join": "relocate", "carry": "all", "rotate": False, "kl": 0.0421, "seconds": 0.001,
         "chosen_by": "auto", "why": "it is the cheapest"},
        {"kind": "vote", "role": "selector", "choice": 2},
        {"kind": "call", "role": "b", "prefilled": 3, "decoded": 4, "seconds": 1.5},
    ]  # fmt: skip
    path.write_text("".join(json.dumps(one) + "\n" for one in events))
    done = call("inspect", str(path))
    assert done.exit_code == 0, done.stderr
    for words in ("0.042", "+12", "relocate, all, NOT", "WARNING", "vote by selector: choice 2",
                  "chosen by auto for b: it is the cheapest"):  # fmt: skip
        assert words in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least one event"), ("[1]\n", "one event a line"), ("{", "in line 1"),
        ('{"kind": 3}\n', "one event a line"),
    ],
)  # fmt: skip
def test_what_is_no_trace_ends_with_one_line(call, tmp_path, text, words):
    path = tmp_path / "trace.jsonl"
    path.write_text(text)
    one_line(call("inspect", str(path)), 2, words)


def test_a_trace_that_is_not_there_ends_with_one_line(call, tmp_path):
    one_line(call("inspect", str(tmp_path / "absent")), 2, "trace must be a file")


def test_votes_of_a_real_run_can_be_inspected(call, engine, tmp_path):
    answer = Voting(engine, 2, inner="prefill")(QUESTION, max_new_tokens=2)
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in story(answer)))
    done = call("inspect", str(path))
    assert done.exit_code == 0 and "vote" in done.stdout
