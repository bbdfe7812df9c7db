"""Plans that cannot end: faults and budgets, what is answered then, and that no page is lost."""

import gc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentprim import Agent, BudgetExceeded, PlanError
from agentprim.primitives import prompts
from agentprim.workflow import Flow, Plan, estimate
from agentprim.workflow.check import plan_problems
from tests.engine.making import engine
from tests.workflow.plans import FAST, SHORT, Saboteur, diamond, flow, plan, statuses, step

ASK = "why?"


def broken(word: str, *steps, **options) -> Flow:
    return flow(*steps, agents=Saboteur(word), **options)


def test_what_stands_on_a_failed_step_is_skipped_and_the_call_returns():
    """A13: codenamev/agentic #11 and #20, kazah4359-lgtm/Magda-agent #97."""
    out = broken("left", *diamond())(ASK, **SHORT)
    assert statuses(out) == {"top": "done", "left": "failed", "right": "done", "end": "skipped"}
    assert out.finish == "error" and out.name == "system"
    failed = next(e.detail for e in out.trace if e.detail.get("status") == "failed")
    assert failed["error"] == "RuntimeError: cannot say 'left'"
    skipped = next(e.detail for e in out.trace if e.detail.get("status") == "skipped")
    assert skipped["reason"] == "step 'left' gave nothing"


def test_the_deepest_thought_that_is_left_is_put_into_words():
    out = broken("left", *diamond())(ASK, **SHORT)
    by = Agent(engine(), prompts.SOLVER)
    top = by.think(ASK, steps=2)
    right = by.think(f"{ASK}\n\nLook right.", steps=2, context=[top])
    assert out == by(ASK, context=[right], **SHORT) != ""
    (rescue,) = [e.detail for e in out.trace if e.kind == "rescue"]
    assert rescue["from"] == "right" and rescue["reason"] == "error"


def test_a_first_step_that_fails_leaves_nothing_and_its_own_fault_is_raised():
    with pytest.raises(RuntimeError, match="cannot say 'why'") as fault:
        broken("why", *diamond())(ASK, **SHORT)
    assert "in step 'top'" in fault.value.__notes__[0]
    with pytest.raises(RuntimeError, match="cannot say 'left'"):
        broken("left", *diamond(), strict=True)(ASK, **SHORT)


def test_a_fault_that_meets_every_hand_over_is_raised():
    """An option that cannot work here shall not look like an answer without words."""
    free = pages()
    with pytest.raises(ValueError, match="must have measurements"):
        flow(*diamond(), join="auto")(ASK, **SHORT)
    gc.collect()
    assert pages() == free


def test_one_question_of_a_batch_may_fail_alone():
    one = broken("how", *diamond())
    good, bad = one(["why?", "how?"], **SHORT)
    assert good == flow(*diamond())("why?", **SHORT) and good.finish != "error"
    assert bad == "" and bad.finish == "error" and bad.kv is None
    assert statuses(bad)["top"] == "failed" and statuses(good)["end"] == "done"


def test_calls_stop_at_the_budget_and_one_is_kept_for_an_answer():
    steps = [step("a"), step("b", "query", "a"), step("c", "query", "b"), step("d", "query", "c")]
    whole = flow(*steps, budget={"calls": 4})(ASK, **SHORT)
    assert whole == flow(*steps)(ASK, **SHORT) and whole.finish != "budget"
    out = flow(*steps, budget={"calls": 3})(ASK, **SHORT)
    assert out.finish == "budget" and out != ""
    assert sum(e.kind == "call" for e in out.trace) == 3
    assert statuses(out) == {"a": "done", "b": "done", "c": "skipped", "d": "skipped"}
    assert "budget of calls is spent" in str([e.detail for e in out.trace])
    with pytest.raises(BudgetExceeded, match="budget of calls"):
        flow(*steps, budget={"calls": 3}, strict=True)(ASK, **SHORT)


def test_equal_steps_share_a_budget():
    steps = [step(n, instruction=f"As {n}.") for n in "abc"]
    out = flow(*steps, step("d", "query", "a", "b", "c"), budget={"calls": 2})(ASK, **SHORT)
    assert sum(e.kind == "call" for e in out.trace) == 2
    assert statuses(out) == {"a": "done", "b": "skipped", "c": "skipped", "d": "skipped"}


def test_a_step_ends_at_its_own_budget():
    steps = [step("a"), step("b", "query", "a", primitive="review", rounds=3, stop="never",
                             budget={"calls": 4}), step("c", "query", "b")]  # fmt: skip
    out = flow(*steps)(ASK, **SHORT)
    assert out.finish == "budget" and statuses(out)["b"] == "failed"
    assert "step 'b' must take at most 4 calls, got 5" in str([e.detail for e in out.trace])


@pytest.mark.parametrize("most", [1, 2, 7, 30])
@pytest.mark.parametrize("comm", ["kv", "text"])
def test_no_more_text_is_decoded_than_the_budget_has(most, comm):
    steps = [step("a", inner="text"), step("b", "query", "a", primitive="review", rounds=1)]
    one = flow(*steps, budget={"decoded": most}, comm=comm)
    try:
        out = one(ASK, max_new_tokens=20)
    except BudgetExceeded:
        assert most < 3
        return
    assert 0 < out.usage.decoded <= most


def test_nothing_begins_when_the_time_is_over():
    with pytest.raises(BudgetExceeded, match="seconds"):
        flow(*diamond(), budget={"seconds": 1e-9})(ASK, **SHORT)
    out = flow(step("a"), step("b", "query", "a", budget={"seconds": 1e-9}))(ASK, **SHORT)
    assert out.finish == "budget" and statuses(out) == {"a": "done", "b": "failed"}


def test_a_plan_inside_is_held_to_the_budget_outside():
    nested = {"steps": [step("a"), step("b", "query", "a"), step("c", "query", "b")]}
    one = flow(step("n", primitive="plan", plan=nested, budget={"calls": 2}))
    out = one(ASK, **SHORT)
    assert sum(e.kind == "call" for e in out.trace) == 2
    assert out.finish == "budget"


def pages() -> int:
    return engine().pool.num_free


def test_a_fault_in_any_step_leaves_no_page_behind():
    steps = [step("a", instruction="As a."), *(
        step(n, "query", "a", instruction=f"As {n}.") for n in ("b", "c")),
        step("d", "query", "b", "c", primitive="voting", instruction="As d."),
        step("e", "query", "d", primitive="review", rounds=1, instruction="As e.")]  # fmt: skip
    gc.collect()
    free = pages()
    gc.disable()
    try:
        for name in "abcde":
            for strict in (False, True):
                one = broken(f"As {name}.", *steps, strict=strict)
                try:
                    out = one(ASK, **SHORT)
                    assert out.finish == "error"
                    del out
                except RuntimeError as error:
                    error.__traceback__ = None
                del one
                assert pages() == free, (name, strict)
    finally:
        gc.enable()


@st.composite
def plans(draw) -> dict:
    """Draw a plan whose steps all lead to the last one."""
    count = draw(st.integers(1, 4))
    kinds = st.sampled_from(["solve", "solve", "review", "voting", "planning", "plan"])
    steps, unread = [], set()
    for number in range(count):
        earlier = [one["id"] for one in steps]
        inputs = draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []
        if number == count - 1:
            inputs = [*inputs, *sorted(unread - set(inputs))]
        kind = draw(kinds)
        more = {"review": {"rounds": 1}, "voting": {"solvers": 2}, "planning": {"executors": 2}}
        parameters = dict(more.get(kind, {}))
        parameters["inner"] = draw(st.sampled_from(["latent", "text", "prefill"]))
        if draw(st.booleans()):
            parameters["carry"] = draw(st.sampled_from(["reply", "all", "no_system"]))
        if draw(st.booleans()):
            parameters["join"] = draw(st.sampled_from(["relocate", "append"]))
        one = step(f"s{number}", "query", *inputs, primitive=kind, **parameters)
        if kind == "plan":
            one["plan"] = {"steps": [step("x"), step("y", "x", "query")]}
        unread = (unread - set(inputs)) | {one["id"]}
        steps.append(one)
    budget = draw(st.sampled_from([None, None, {"calls": 3}, {"decoded": 9}]))
    return {"steps": steps, **({"budget": budget} if budget else {})}


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(plans(), st.sampled_from([None, "why"]))
def test_after_any_plan_no_page_is_left(data, word):
    free, one = pages(), Plan.from_dict(data)
    assert Plan.from_json(one.to_json()) == one
    agents = Saboteur(word) if word else None
    run = Flow(engine(), one, agents=agents, steps=1, inner_tokens=2)
    try:
        out = run("why?" if word else "how?", max_new_tokens=2)
        calls = sum(event.kind == "call" for event in out.trace)
        assert calls <= estimate(one, steps=1).calls + (out.finish in ("error", "budget"))
        if one.budget and one.budget.calls:
            assert calls <= one.budget.calls
        if one.budget and one.budget.decoded:
            assert out.usage.decoded <= one.budget.decoded
        del out
    except (RuntimeError, BudgetExceeded) as error:
        error.__traceback__ = None
    del run, agents
    gc.collect()
    assert pages() == free


@settings(max_examples=100)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(
                        ["steps", "id", "primitive", "inputs", "parameters", "plan", "output",
                         "budget", "x"]), x, max_size=5), max_leaves=12))  # fmt: skip
def test_no_data_breaks_the_check(data):
    if plan_problems(data):
        with pytest.raises(PlanError):
            Plan.from_dict(data)
    else:
        assert Plan.from_dict(data).steps


def test_options_of_the_call_are_checked_before_anything_runs():
    one = flow(*diamond(), **{**FAST, "agents": Saboteur("why")})
    with pytest.raises(ValueError, match="join must be one of"):
        one(ASK, join="glue")
    assert len(plan(*diamond()).steps) == 4
