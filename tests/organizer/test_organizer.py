"""Organizers: what a model writes becomes a plan, is asked for again, or is replaced openly."""

import json

import pytest

from agentprim import KnowledgePool, Organizer, PlanError, System
from agentprim.organizer import FALLBACK, Local, Proposal
from agentprim.organizer.schema import gathered
from agentprim.workflow import Plan
from tests.engine.making import engine
from tests.workflow.plans import FAST, SHORT, diamond, plan, statuses

GOOD = plan(*diamond())
BAD = '{"steps": [{"id": "a", "primitive": "solve", "inputs": ["b"]}]}'
POOL = KnowledgePool.builtin()


class Script:
    """Says its lines in turn and keeps what it was asked."""

    def __init__(self, *lines) -> None:
        """Take the lines."""
        self.lines, self.asked = list(lines), []

    def __call__(self, messages):
        """Say the next line."""
        self.asked.append(list(messages))
        return self.lines[min(len(self.asked), len(self.lines)) - 1]


def test_a_plan_that_a_model_writes_is_returned():
    script = Script(f"<think>hm</think>\n```json\n{GOOD.to_json()}\n```")
    found = Organizer(script, POOL).propose("Sort a list in Python.")
    assert found.plan == GOOD and found.source == "llm" and not found.fallback
    assert found.problems == () and len(script.asked) == 1
    assert Organizer(script).plan("x") == GOOD


def test_the_model_is_told_the_primitives_and_what_fits_and_the_query_as_data():
    script = Script(GOOD.to_json())
    query = 'Write a Python function.\n\nThe plan: {"steps": []}'
    found = Organizer(script, POOL, k=2).propose(query)
    (system, user) = script.asked[0]
    assert system["role"] == "system" and "do not answer" in system["content"]
    assert json.dumps(query) in user["content"]
    assert all(
        f"- {name}:" in system["content"] for name in ("solve", "review", "voting", "planning")
    )
    assert len(found.entries) == 2
    for name in found.entries:
        assert POOL[name].strategy in user["content"]
        assert json.dumps(POOL[name].plan.to_dict(), separators=(",", ":")) in user["content"]
    Organizer(script, None).propose(query)
    assert "Structures that worked" not in script.asked[1][1]["content"]


@pytest.mark.parametrize("first", [BAD, "I would rather not.", GOOD.to_json()[:-30], "<think>so"])
def test_a_refused_reply_is_asked_again_once_with_its_error(first):
    script = Script(first, GOOD.to_json())
    found = Organizer(script, POOL).propose("x")
    assert found.plan == GOOD and found.source == "llm" and len(found.problems) == 1
    assert len(script.asked) == 2
    reply, error = script.asked[1][-2:]
    assert reply == {"role": "assistant", "content": first}
    assert found.problems[0] in error["content"]


def test_after_that_the_fallback_stands_in_and_says_so():
    script = Script(BAD)
    found = Organizer(script, POOL).propose("x")
    assert found.plan == FALLBACK and found.fallback and len(script.asked) == 2
    assert len(found.problems) == 2 and "'b'" in found.problems[0]
    with pytest.raises(PlanError, match="must read the query or a step, got 'b'"):
        Organizer(script, fallback=None).plan("x")
    out = System(engine(), organizer=Organizer(script), **FAST)("why?", **SHORT)
    assert out.trace[0].kind == "plan" and out.trace[0].detail["source"] == "fallback"
    assert out == System(engine(), FALLBACK, **FAST)("why?", **SHORT)


def test_a_function_that_gives_nothing_is_not_asked_again():
    script = Script(None)
    found = Organizer(script).propose("x")
    assert found.fallback and len(script.asked) == 1 and "NoneType" in found.problems[0]


def test_a_system_plans_for_each_query_and_runs_equal_plans_together():
    one = Plan.from_dict({"steps": [{"id": "only", "primitive": "solve"}]})
    script = lambda messages: (one if "how" in messages[1]["content"] else GOOD).to_json()  # noqa: E731
    run = System(engine(), organizer=script_organizer(script), **FAST)
    outs = run(["why?", "how?", "what?"], **SHORT)
    assert [set(statuses(out)) for out in outs] == [
        {"top", "left", "right", "end"}, {"only"}, {"top", "left", "right", "end"}]  # fmt: skip
    assert outs == [System(engine(), p, **FAST)(q, **SHORT)
                    for p, q in ((GOOD, "why?"), (one, "how?"), (GOOD, "what?"))]  # fmt: skip
    assert all(out.trace[0].kind == "plan" for out in outs)


def script_organizer(script) -> Organizer:
    return Organizer(script, None)


@pytest.mark.parametrize("rule", ["random", "bm25-top1", "fixed:aflow-format"])
def test_rules_take_plans_from_the_pool(rule):
    run = System(engine(), organizer=rule, knowledge=POOL, inner="prefill")
    out = run("Answer strictly in the form of a single word.", max_new_tokens=2)
    event = out.trace[0].detail
    assert event["source"] == rule.split(":")[0] and event["entries"][0] in POOL
    if rule != "random":
        assert event["entries"] == ["aflow-format"]


def test_random_is_the_same_for_the_same_seed_and_query():
    def drawn(seed):
        run = System(engine(), organizer="random", knowledge=POOL, seed=seed)
        return [run.organizer.propose(f"query {n}").entries for n in range(9)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(set(drawn(1))) > 4


def test_what_cannot_be_an_organizer_is_named():
    for make, fault, said in [
        (lambda: System(engine()), ValueError, "a plan or an organizer, got none"),
        (lambda: System(engine(), GOOD, "llm"), ValueError, "got both"),
        (lambda: System(engine(), organizer="best"), ValueError, "organizer must be one of"),
        (lambda: System(engine(), organizer="fixed:x"), ValueError, "id must be one of"),
        (lambda: System(engine(), organizer=7), TypeError, "organizer must be one of"),
        (
            lambda: System(engine(), organizer="random", knowledge=None),
            ValueError,
            "must be a pool",
        ),
        (lambda: System(engine(), {"steps": []}), PlanError, "at least one step"),
        (lambda: System(engine(), GOOD, step=3), TypeError, "step"),
        (lambda: Organizer(7), TypeError, "llm must be"),
        (lambda: Organizer(Script(""), k=-1), ValueError, "k must be at least 0"),
    ]:
        with pytest.raises(fault, match=said):
            make()
    empty = System(engine(), organizer="bm25-top1", knowledge=KnowledgePool(), **FAST)
    assert empty.organizer.propose("x").fallback


def test_a_system_is_an_agent_that_thinks_and_nests():
    inner = System(engine(), organizer=script_organizer(Script(GOOD.to_json())), **FAST)
    thought = inner.think("why?", steps=2)
    assert thought == "" and thought.finish == "handover" and thought.trace[0].kind == "plan"
    outer = System(engine(), {"steps": [{"id": "n", "primitive": "plan", "plan": GOOD.to_dict()}]})
    assert outer.think("why?", inner="prefill").finish == "handover"
    assert isinstance(inner.organizer.propose("x"), Proposal)


def test_a_tokenizer_that_no_grammar_knows_is_named():
    with pytest.raises(ValueError, match="decoder"):
        Local(engine())([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}])


def test_what_no_step_reads_is_read_by_the_last():
    steps = [{"id": f"s{n}", "primitive": "solve", "inputs": ["query"]} for n in (1, 2, 3)]
    found = Plan.from_dict(gathered({"steps": steps}))
    assert found["s3"].inputs == ("query", "s1", "s2") and found.output == "s3"
    steps[1]["inputs"] = ["query", "s1"]
    assert Plan.from_dict(gathered({"steps": steps}))["s3"].inputs == ("query", "s2")
