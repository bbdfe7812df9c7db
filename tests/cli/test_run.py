"""`agentprim run`: the library's own answer, what it cost, and the trace of how it came."""

import json

import pytest

from agentprim import Agent, Planning, Review, Voting
from agentprim.primitives.prompts import SOLVER
from tests.cli.conftest import QUESTION

SHORT = ("--max-new-tokens", "8")


@pytest.mark.parametrize(
    ("options", "make"),
    [
        (("--rounds", "1", "--steps", "3"), lambda e: Review(e, rounds=1, steps=3)),
        (
            ("--comm", "text", "--rounds", "1", "--inner-tokens", "5"),
            lambda e: Review(e, rounds=1, comm="text", inner_tokens=5),
        ),
        (
            ("--primitive", "voting", "--solvers", "2", "--steps", "3", "--seed", "4"),
            lambda e: Voting(e, 2, steps=3, seed=4),
        ),
        (
            ("--primitive", "planning", "--executors", "2", "--inner", "prefill"),
            lambda e: Planning(e, 2, inner="prefill"),
        ),
        (
            ("--primitive", "planning", "--executors", "2", "--inner", "prefill", "--no-rotate"),
            lambda e: Planning(e, 2, inner="prefill", rotate=False),
        ),
        (("--primitive", "single"), lambda e: Agent(e, SOLVER, name="single")),
    ],
    ids=["review", "review_text", "voting", "planning", "not_rotated", "single"],
)
def test_the_answer_is_streamed_exactly_as_the_library_gives_it(
    call, folder, engine, options, make
):
    expected = make(engine)(QUESTION, max_new_tokens=8)
    done = call("run", QUESTION, "--model", folder, *SHORT, *options)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(str(expected) + "\n")
    table = done.stdout[len(str(expected)) :]
    for role, cost in expected.usage.roles.items():
        row = next(line for line in table.splitlines() if f" {role} " in line)
        cells = [cell.strip().replace(",", "") for cell in row.strip("│┃").split("│")]
        counts = [cost.prefilled, cost.decoded, cost.latent, cost.reused, cost.relocated]
        assert cells[1:6] == [str(count) for count in counts]


def test_leaving_out_the_rotation_is_announced_loudly_and_changes_the_answer(call, folder):
    options = ("--model", folder, *SHORT, "--rounds", "1", "--steps", "3", "--json")
    right, wrong = call("run", QUESTION, *options), call("run", QUESTION, *options, "--no-rotate")
    assert right.exit_code == wrong.exit_code == 0
    assert "WARNING" not in right.stderr
    assert "WARNING: --no-rotate" in wrong.stderr
    assert json.loads(right.stdout)["answer"] != json.loads(wrong.stdout)["answer"]


def test_json_holds_the_answer_and_its_cost_by_role_and_nothing_else_is_printed(
    call, folder, engine
):
    expected = Review(engine, rounds=1, steps=3)(QUESTION, max_new_tokens=8)
    done = call(
        "run", QUESTION, "--model", folder, *SHORT, "--rounds", "1", "--steps", "3", "--json"
    )
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert found["answer"] == str(expected)
    assert (found["comm"], found["inner"]) == ("kv", "latent")
    assert found["total"]["latent"] == sum(r["latent"] for r in found["roles"].values()) == 6
    assert found["roles"]["critic"]["prefilled"] == expected.usage.roles["critic"].prefilled


def test_the_trace_has_one_object_for_each_event_and_the_answer_last(
    call, folder, engine, tmp_path
):
    expected = Voting(engine, 2, steps=3)(QUESTION, max_new_tokens=8)
    path = tmp_path / "trace.jsonl"
    done = call(
        "run", QUESTION, "--primitive", "voting", "--solvers", "2", "--steps", "3",
        "--model", folder, *SHORT, "--trace", str(path),
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["kind"] for one in lines] == [*(e.kind for e in expected.trace), "answer"]
    assert {"vote", "handover", "call"} <= {one["kind"] for one in lines}
    assert lines[-1]["text"] == str(expected)
    calls = [one for one in lines if one["kind"] == "call"]
    assert lines[-1]["decoded"] == sum(one["decoded"] for one in calls) == len(expected.ids)


def test_a_repaired_hand_over_is_what_the_library_repairs(call, folder, engine):
    expected = Review(engine, rounds=1, steps=3, join="repair")(QUESTION, max_new_tokens=8)
    done = call("run", QUESTION, "--model", folder, *SHORT, "--rounds", "1", "--steps", "3",
                "--join", "repair", "--json")  # fmt: skip
    total = json.loads(done.stdout)["total"]
    assert total["recomputed"] == expected.usage.recomputed > 0
