"""Plans as data: read and written without loss, and refused with all that is wrong at once."""

import time

import pytest

from agentprim import PlanError
from agentprim.workflow import Budget, Plan, Step, estimate
from tests.workflow.plans import diamond, plan, step

FULL = {
    "name": "everything",
    "steps": [
        step("a", temperature=0.5, system="Say \"yes\"."),
        step("b", "query", "a", primitive="review", rounds=3, stop="never", comm="text",
             roles={"critic": "Be `kind`."}),
        step("c", "a", primitive="voting", solvers=5, keep=2, instruction="Vote.\n```x```"),
        step("d", "b", "c", "query", primitive="planning", executors=2, inner_tokens=9),
        step("e", "d", "query", primitive="plan", rotate=False,
             plan={"steps": [step("a"), step("b", "a", "query")], "output": "b"}),
        step("f", "e", "query", carry="reply", join="append", budget={"seconds": 1.5}),
    ],
    "output": "f",
    "budget": {"calls": 40, "decoded": 1000},
}  # fmt: skip


def test_json_gives_an_equal_plan_back():
    one = Plan.from_dict(FULL)
    assert Plan.from_json(one.to_json()) == one == Plan.from_json(one.to_json(None))
    assert one["c"].parameters.instruction == "Vote.\n```x```"
    assert one["f"].budget == Budget(seconds=1.5) and one["e"].plan["b"].reads == ["a"]


def test_a_plan_can_be_made_of_steps_and_answers_with_its_last_one():
    made = Plan(steps=[Step(id="a", primitive="solve"),
                       Step(id="b", primitive="review", inputs=["a", "query"],
                            parameters={"rounds": 1})])  # fmt: skip
    assert made.output == "b" and made["b"].parameters.rounds == 1
    assert made == plan(step("a"), step("b", "a", "query", primitive="review", rounds=1))


def bad(*steps, **more) -> dict:
    return {"steps": list(steps), **more}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (bad(step("b", "x")), ["'b'", "'x'"]),
        (bad(step("a", "query", "b"), step("b", "a", "query")), ["wait for each other", "a -> b"]),
        (bad(step("a", "a", "query")), ["'a' must not read itself"]),
        (bad(step("a"), step("a")), ["'a' twice"]),
        (bad(step("a", primitive="meditate")), ["primitive of", "'meditate'"]),
        (bad(), ["at least one step"]),
        ({}, ["list of steps"]),
        ("plan", ["must be an object"]),
        (bad(step("a", primitive="review", round=2)), ["'round'", "did you mean 'rounds'"]),
        (bad(step("a", primitive="solve", rounds=2)), ["'rounds'"]),
        (bad(step("a", primitive="voting", solvers="many")), ["solvers", "'many'"]),
        (bad(step("a", primitive="voting", solvers=10**9)), ["solvers", "32"]),
        (bad(step("a", primitive="voting", solvers=2, keep=3)), ["at most its 2 solvers"]),
        (bad(step("a", primitive="review", roles={"judge": "x"})), ["['solver', 'critic']"]),
        (bad(step("a", join="glue")), ["join must be one of"]),
        (bad(step("a"), step("b")), ["lead to the output 'b'", "['a']"]),
        (bad(step("a"), output="z"), ["output must be the id of a step, got 'z'"]),
        (bad(step("a", "query", "a"), step("b", "a", "query")), ["output 'b' must be reachable"]),
        (bad(step("query")), ["must have an id"]),
        (bad(step("a"), step("b", "a")), ["'b' must read 'query' or have an instruction"]),
        (bad(step("a", primitive="plan")), ["must have a plan"]),
        (bad(step("a", primitive="plan", plan=bad(step("b", "c", "query")))), ["'a': step 'b'"]),
        (bad(step("a"), budget={"calls": 0}), ["budget", "calls"]),
        (bad(step("a", budget={"money": 3})), ["budget of step 'a'", "'money'"]),
        (bad(step("a", primitive="review", threshold=float("nan"))), ["threshold", "nan"]),
        (bad(step("a"), budget={"seconds": float("inf")}), ["seconds", "inf"]),
        (bad(step("a"), answer="a"), ["only", "answer"]),
        (bad({"id": "a", "primitive": "solve", "inputs": []}), ["at least one input"]),
        (bad({"id": "a", "primitive": "solve", "inputs": "query"}), ["list of ids"]),
        (bad(7), ["step 1 must be an object"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(data, said):
    with pytest.raises(PlanError) as fault:
        Plan.from_dict(data)
    assert all(word in str(fault.value) for word in said), str(fault.value)


def test_a_plan_that_can_never_finish_is_refused_with_all_offenders_in_one_error():
    """A13: codenamev/agentic #11 and #20, kazah4359-lgtm/Magda-agent #97."""
    data = bad(
        step("a", "query", "missing"), step("b", "c", "query"), step("c", "b", "query"),
        step("d", "d", "query"), step("e"), step("e"), step("f", primitive="dance"),
        step("g", "query", primitive="review", laps=3),
    )  # fmt: skip
    with pytest.raises(PlanError) as fault:
        Plan.from_dict(data)
    for word in ("'missing'", "b -> c", "'d' must not read itself", "'e' twice", "'dance'",
                 "'laps'", "['a', 'b', 'c', 'd', 'e', 'f']"):  # fmt: skip
        assert word in str(fault.value)


def test_ten_thousand_steps_are_refused_at_once():
    """A13: as above; a plan of that size is no plan."""
    many = bad(*[step(f"s{n}", f"s{n - 1}" if n else "query", "query") for n in range(10_000)])
    begun = time.perf_counter()
    with pytest.raises(PlanError, match="at most 64 steps, got 10000"):
        Plan.from_dict(many)
    deep = step("a")
    for _ in range(400):
        deep = step("a", primitive="plan", plan=bad(deep))
    with pytest.raises(PlanError, match="nested at most 3 deep"):
        Plan.from_dict(bad(deep))
    with pytest.raises(PlanError, match="must be JSON"):
        Plan.from_json('{"steps": [' * 100_000)
    assert time.perf_counter() - begun < 1


def test_every_proper_prefix_of_a_plan_is_no_plan():
    text = plan(*[step(f"s{n}", *([f"s{n - 1}"] if n else []), "query") for n in range(5)])
    for one in (text.to_json(), text.to_json(None)):
        assert len(Plan.from_json(one).steps) == 5
        for end in range(len(one)):
            with pytest.raises(PlanError):
                Plan.from_json(one[:end])


def test_a_drawing_shows_every_step_and_edge():
    drawn = Plan.from_dict(FULL).to_mermaid()
    lines = drawn.splitlines()
    assert lines[0] == "flowchart TD" and lines[-1].endswith('answer(["answer"])')
    for one in (
        "query --> s_a",
        "s_a --> s_b",
        "s_b --> s_d",
        "s_c --> s_d",
        "s_d --> s_e_in",
        "s_e_in --> s_e_a",
        "s_e_a --> s_e_b",
        "s_e_b --> s_f",
        "s_f --> answer",
    ):
        assert f"{one}\n" in drawn + "\n", one
    assert 'Say "yes"' not in drawn and "Be `kind`." in drawn


def test_a_cost_is_computed_from_the_structure():
    """Calls by hand: a 1, b 2*3+1, c 5+1, d 2+1, e 2, f 1; only a, b and f speak."""
    one = Plan.from_dict(FULL)
    cost = estimate(one, steps=10, inner_tokens=20, max_new_tokens=30)
    assert cost.calls == 1 + 7 + 6 + 3 + 2 + 1
    assert cost.speaking == 1 + 7 + 1 and cost.decoded == 8 * 20 + 30
    assert cost.latent == (6 + 3 + 2) * 10 and cost.tokens == cost.decoded + cost.latent
    assert estimate(plan(*diamond()), inner="prefill").latent == 0
