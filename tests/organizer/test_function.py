"""Functions that write plans: their faults are not taken for plans that nobody gave."""

import json

import pytest

from agentprim import Organizer, PlanError
from agentprim.organizer import Reply, Unanswered
from tests.workflow.plans import diamond, plan

GOOD = plan(*diamond())


def test_a_fault_of_the_function_is_raised_as_it_is_and_ends_the_batch():
    asked = []

    def misspelt(messages):
        asked.append(messages)
        return GOOD.to_jsn()

    with pytest.raises(AttributeError, match="to_jsn"):
        Organizer(misspelt).propose_each(["a", "b"])
    assert len(asked) == 1
    with pytest.raises(AttributeError, match="to_jsn"):
        Organizer(misspelt).llm([{"role": "user", "content": "a"}])


def test_what_says_that_there_is_no_answer_passes_through_unchanged():
    fault = Unanswered("the model sleeps")

    def sleeps(messages):
        raise fault from OSError("no line")

    organizer = Organizer(sleeps, fallback=None)
    with pytest.raises(Unanswered) as raised:
        organizer.llm([{"role": "user", "content": "a"}])
    assert raised.value is fault
    found = Organizer(sleeps).propose("a")
    assert found.fallback and found.problems == ("the model sleeps",)
    with pytest.raises(PlanError, match="^the model sleeps$") as raised:
        organizer.plan("a")
    assert raised.value.__cause__ is fault and isinstance(fault.__cause__, OSError)


def test_a_plan_that_cannot_be_read_names_its_cause():
    for text in ("no", '{"steps": []}'):
        with pytest.raises(PlanError) as raised:
            Organizer(lambda messages, text=text: text, fallback=None).plan("a")
        cause = raised.value.__cause__
        assert isinstance(cause, PlanError) and str(cause) == str(raised.value)
        assert cause.__traceback__ is not None


def test_a_function_may_return_a_whole_reply():
    cut = iter([Reply(text=GOOD.to_json(), cut=True), Reply(text=GOOD.to_json())])
    found = Organizer(lambda messages: next(cut)).propose("a")
    assert found.plan == GOOD and "cut off by its limit" in found.problems[0]


def test_what_is_neither_text_nor_a_reply_is_a_fault():
    with pytest.raises(TypeError, match="llm must return text or a Reply, got dict"):
        Organizer(lambda messages: json.loads(GOOD.to_json())).propose("a")
