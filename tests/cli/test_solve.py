"""`agentprim solve`, `plan` and `pool`: the library's own answers, plans and entries."""

import json

import pytest

from agentprim import KnowledgePool, Organizer, Plan, System
from agentprim.organizer import Remote
from tests.cli.conftest import QUESTION
from tests.support.server import answer, serving
from tests.workflow.plans import diamond, plan

GOOD = plan(*diamond(), name="drawn")
SHORT = ("--max-new-tokens", "6", "--steps", "2")


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(GOOD.to_json())
    return str(path)


def test_a_plan_from_a_file_is_run_and_its_answer_streamed(call, folder, engine, saved):
    expected = System(engine, GOOD, steps=2)(QUESTION, max_new_tokens=6)
    done = call("solve", QUESTION, "--plan", saved, "--model", folder, *SHORT)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(str(expected) + "\n")
    assert all(f"{name}.solver" in done.stdout for name in ("top", "left", "right", "end"))


@pytest.mark.parametrize("rule", ["bm25-top1", "random", "fixed:aflow-format"])
def test_a_rule_takes_a_plan_from_the_pool(call, folder, engine, rule):
    expected = System(engine, organizer=rule, steps=2)(QUESTION, max_new_tokens=6)
    done = call("solve", QUESTION, "--organizer", rule, "--model", folder, *SHORT, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["answer"] == str(expected) and found["source"] == rule.split(":")[0]
    assert set(found["steps"].values()) == {"done"}
    assert Plan.from_dict(found["plan"]).to_dict() == found["plan"]


def test_an_endpoint_plans_and_the_running_graph_is_shown(call, folder, engine):
    pytest.importorskip("openai")
    with serving(answer(GOOD.to_json())) as (address, seen):
        done = call("solve", QUESTION, "--organizer", "remote:planner", "--organizer-url", address,
                    "--model", folder, *SHORT, "--show")  # fmt: skip
        who = Organizer(Remote("planner", address), KnowledgePool.builtin())
        expected = System(engine, organizer=who, steps=2)(QUESTION, max_new_tokens=6)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(str(expected) + "\n") and len(seen) == 2
    lines = done.stderr.split("\n")
    assert lines[:2] == ["top: running", "top: done"] and "end: done" in lines
    assert "plan by llm, from" in done.stdout


def test_a_fallback_is_announced(call, folder):
    pytest.importorskip("openai")
    with serving(answer(None, "length")) as (address, _):
        done = call("solve", QUESTION, "--organizer", "remote:planner", "--organizer-url", address,
                    "--model", folder, *SHORT)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "FALLBACK plan" in done.stdout and "raise max_tokens" in " ".join(done.stdout.split())


def test_the_trace_tells_what_became_of_each_step(call, folder, saved, tmp_path):
    path = tmp_path / "trace.jsonl"
    done = call("solve", QUESTION, "--plan", saved, "--model", folder, *SHORT, "--trace", str(path))
    assert done.exit_code == 0, done.stderr
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["role"] for one in lines if one["kind"] == "step"] == [
        "top",
        "left",
        "right",
        "end",
    ]
    assert lines[-1]["kind"] == "answer"


def test_a_plan_is_printed_with_its_drawing_and_can_be_run_again(call):
    done = call("plan", QUESTION, "--organizer", "fixed:debate-2x3")
    assert done.exit_code == 0, done.stderr
    text, _, drawn = done.stdout.partition("\n\nflowchart")
    expected = KnowledgePool.builtin()["debate-2x3"].plan
    assert Plan.from_json(text) == expected
    assert "flowchart" + drawn.rstrip("\n") == expected.to_mermaid()
    assert "plan by fixed, from debate-2x3; at most 7 calls" in " ".join(done.stderr.split())
    data = json.loads(call("plan", QUESTION, "--organizer", "bm25-top1", "--json").stdout)
    assert Plan.from_dict(data["plan"]) and data["source"] == "bm25-top1"


def test_a_pool_is_searched_changed_and_learns(call, tmp_path):
    file = ("--pool", str(tmp_path / "pool.db"))
    listed = json.loads(call("pool", "list", "--json").stdout)
    assert len(listed) == 45
    found = json.loads(call("pool", "search", "make a slow program faster", "--json").stdout)
    assert found[0]["id"] == "refine-speed" and found[0]["score"] > 0 and len(found) == 5
    shown = call("pool", "show", "refine-speed", "--json").stdout
    entry = {**json.loads(shown), "id": "mine"}
    (tmp_path / "entry.json").write_text(json.dumps(entry))
    assert call("pool", "add", str(tmp_path / "entry.json"), *file).stdout == "mine\n"
    assert call("pool", "record", "refine-speed", "--loss", *file).exit_code == 0
    again = json.loads(call("pool", "search", "make a slow program faster", *file, "--json").stdout)
    assert again[0]["id"] == "mine"
    stats = json.loads(call("pool", "stats", *file, "--json").stdout)
    assert stats == {
        "entries": 46, "outcomes": {"refine-speed": {"runs": 1, "wins": 0, "rate": 1 / 3}},
    }  # fmt: skip
    assert call("pool", "remove", "mine", *file).exit_code == 0
    assert len(json.loads(call("pool", "list", *file, "--json").stdout)) == 45
    for words in (("list", "--task", "code"), ("show", "aflow-code"), ("stats",),
                  ("search", "a poem")):  # fmt: skip
        done = call("pool", *words, *file)
        assert done.exit_code == 0 and done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("solve", "  "), "question must have at least one character"),
        (("plan", QUESTION, "--organizer", "guess"), "organizer must be one of"),
        (("plan", QUESTION, "--organizer", "fixed:x"), "id must be one of the pool's 45 entries"),
        (("plan", QUESTION, "--organizer", "random", "--organizer-url", "x"), "must be used with"),
        (("plan", QUESTION, "--organizer", "random", "--no-knowledge"), "knowledge must be a pool"),
        (("pool", "show", "nothing"), "got 'nothing'"),
        (("solve", QUESTION, "--organizer", "guess", "--model", "none"), "organizer must be one"),
        (("solve", QUESTION, "--comm", "text", "--no-rotate"), "rotate must be left on"),
    ],
)
def test_what_is_wrong_is_one_line(call, words, said):
    done = call(*words)
    assert done.exit_code == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_a_bad_plan_costs_no_model(call, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text('{"steps": [{"id": "a", "primitive": "dance"}]}')
    done = call("solve", QUESTION, "--plan", str(path), "--model", "no such model")
    assert done.exit_code == 2 and "primitive of" in done.stderr and "dance" in done.stderr
