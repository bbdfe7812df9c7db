"""A decider composes primitives one by one, each after the last output is known."""

from agentprim import Decider
from agentprim.organizer.feedback import DUTIES, by_feedback
from agentprim.workflow.lite import Budget
from tests.engine.making import engine
from tests.workflow.lite.script import Oracle, events


def test_each_primitive_is_chosen_after_the_last_output():
    oracle = Oracle(["planning", "solve", "STOP"])
    system = by_feedback(
        engine(), Decider(oracle), inner="prefill", budget=Budget(calls=9), max_new_tokens=3
    )
    out = system("why?", seed=0)
    assert [e["chosen"] for e in events(out, "route")] == ["planning", "solve", "STOP"]
    first, second, third = (state for question, state in oracle.asked)
    assert len(first) < len(second) < len(third)  # each time there is more to see
    assert [e["sender"] for e in events(out, "handover")][-1] == "planning"
    assert out.finish == "stop" and out.kv is not None


def test_the_engine_decides_where_nobody_else_does():
    out = by_feedback(engine(), inner="prefill", budget=Budget(calls=2), max_new_tokens=2)("why?")
    route = events(out, "route")[0]
    assert set(route["probabilities"]) == set(DUTIES)
