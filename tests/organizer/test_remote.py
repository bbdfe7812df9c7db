"""Organizers at an endpoint: a real server on loopback, and all ways in which it says nothing."""

import re
import time

import pytest

from agentprim import KnowledgePool, Organizer, PlanError, System
from agentprim.agent.endpoint import RemoteError
from agentprim.organizer import Remote
from tests.engine.making import engine
from tests.support.server import answer, serving
from tests.workflow.plans import FAST, SHORT, diamond, plan, statuses

pytest.importorskip("openai")
GOOD = plan(*diamond())


def remote(address: str, **more) -> Remote:
    return Remote("planner", address, timeout=5, **more)


def test_a_plan_of_an_endpoint_is_run():
    with serving(answer(GOOD.to_json())) as (address, seen):
        organizer = Organizer(remote(address, temperature=0), KnowledgePool.builtin())
        out = System(engine(), organizer=organizer, **FAST)("why?", **SHORT)
    assert out == System(engine(), GOOD, **FAST)("why?", **SHORT)
    assert statuses(out)["end"] == "done" and out.trace[0].detail["source"] == "llm"
    assert out.usage.roles["organizer"].generative_calls == 1
    assert out.usage.roles["organizer"].decoded == 0
    (request,) = seen
    assert request["path"] == "/v1/chat/completions" and request["model"] == "planner"
    assert request["temperature"] == 0 and request["messages"][0]["role"] == "system"
    assert request["response_format"]["json_schema"]["schema"]["required"] == ["steps", "output"]


@pytest.mark.parametrize("status", [400, 422])
def test_an_endpoint_without_structured_output_is_asked_for_text(status):
    no = (status, {"error": {"message": "response_format is not supported"}})
    with serving(no, answer(f"Here: {GOOD.to_json()}")) as (address, seen):
        organizer = Organizer(remote(address))
        assert organizer.plan("x") == organizer.plan("y") == GOOD
    assert ["response_format" in one for one in seen] == [True, False, False]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (answer(None, "length"), r"got none \(length\); raise max_tokens"),
        (answer(None), r"got none \(stop\)"),
        (answer("  \n"), "got nothing from planner"),
        ({**answer("x"), "choices": []}, "no choices"),
        ((500, {"error": {"message": "broken"}}), "InternalServerError"),
        ((429, {"error": {"message": "slow down"}}), "RateLimitError"),
        ((401, {"error": {"message": "who are you"}}), "AuthenticationError"),
    ],
    ids=["null_length", "null", "blank", "no_choices", "500", "429", "401"],
)
def test_an_endpoint_that_says_nothing_is_one_clear_error(reply, said):
    """Remote null: Tongyi-MAI/MobileWorld #61, Birfy/agentdescent #11.

    No retry storm and no crash on what is not there: one request, one error.
    """
    with serving(reply) as (address, seen):
        with pytest.raises(PlanError, match=said):
            Organizer(remote(address), fallback=None).plan("x")
        assert len(seen) == 1
        found = Organizer(remote(address)).propose("x")
        assert found.fallback and len(found.problems) == 1 and re.search(said, found.problems[0])
        assert len(seen) == 2


def test_a_plan_cut_off_at_the_endpoint_is_asked_again():
    """Remote null: as above, where a part came. Even a whole plan is not trusted then."""
    for text in (GOOD.to_json()[:-20], GOOD.to_json()):
        with serving(answer(text, "length"), answer(GOOD.to_json())) as (address, seen):
            found = Organizer(remote(address)).propose("x")
        assert found.plan == GOOD and "cut off by its limit" in found.problems[0]
        assert len(seen) == 2


def test_a_silent_endpoint_is_waited_for_only_so_long():
    def sleep(sent):
        time.sleep(1)
        return answer("")

    with serving(sleep) as (address, seen):
        begun = time.perf_counter()
        found = Organizer(Remote("planner", address, timeout=0.2)).propose("x")
        assert found.fallback and "Timeout" in found.problems[0]
        assert time.perf_counter() - begun < 1 and len(seen) == 1
    found = Organizer(Remote("planner", "http://127.0.0.1:9/v1", timeout=1)).propose("x")
    assert found.fallback and "APIConnectionError" in found.problems[0]
    with pytest.raises(PlanError) as raised:
        Organizer(Remote("planner", "http://127.0.0.1:9/v1", timeout=1), fallback=None).plan("x")
    assert isinstance(raised.value.__cause__.__cause__, RemoteError)
