"""Errors on purpose: where they are put, what screening makes of them, and who repeats them."""

import pytest

from agentprim.engine import Event, Output
from agentprim.workflow.lite import Budget, LiteWorkflow
from agentprim.workflow.lite.detection import Looks, detection, looks
from agentprim.workflow.lite.inject import KINDS, Injection, mutate
from agentprim.workflow.lite.wording import says, wording
from tests.workflow.lite.script import Scripted, decider, events

ONCE = Injection(only=0)


def flow(second: str = "so it is 7", passes=lambda state: False, review="No.", **options):
    """Return a team whose first work, `the sum is 5`, is changed, and whose repair is `second`."""
    return LiteWorkflow(
        [Scripted("a", "the sum is 5", second), Scripted("b", "-")], decider(["a"], passes),
        Scripted("r", review), inject=ONCE, **{"repairs": 1, **options},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("It is 12.5 m.", "It is 13.5 m.", ["13.5"]),
        ("3 + 4 = 7", "3 - 4 = 7", ["3", "-", "4"]),
        ("if not a: b", "if a: b", ["if", "a"]),
        ("a <= b", "a < b", ["<", "b"]),
        ("x = min(a)", "x = max(a)", ["=", "max", "("]),
        ("aa 5 5", "aa 5 6", ["6"]),
        ("5", "", []),
    ],
)
def test_the_wording_of_a_change_is_a_number_alone_or_a_sign_among_its_neighbours(
    before, after, place
):
    assert wording(before, after) == place
    assert says(f"So:{after} !", place) == bool(place) and not says(before, place)


def test_numbers_are_whole_when_they_are_looked_for():
    assert says("is 13.", ["13"]) and not says("is 113", ["13"]) and not says("1.13", ["13"])


@pytest.mark.parametrize(
    ("text", "kind"),
    [("```python\na == b + 1\n```", "code"), ("def f(a):\n    return a == 1", "code"),
     ("the sum is 5 and more", "value"), ("a + b and more", "operator")],
)  # fmt: skip
def test_without_a_kind_the_one_that_fits_is_taken(text, kind):
    for seed in range(6):
        changed = Injection()(seed, 0, Output(text), None)
        assert changed in {mutate(text, kind, place) for place in range(40)}
    assert Injection()(0, 0, Output("nothing and nobody"), None) is None
    assert KINDS[-1] == "code"


def test_only_one_piece_of_work_is_changed_and_its_repair_is_not():
    out = flow()("task?", seed=1)
    assert [event["artifact"] for event in events(out, "inject")] == [0]
    assert out == "so it is 7" and ONCE(1, 1, Output("5"), None) is None


def test_work_that_is_flagged_and_mended_is_found_and_no_attack():
    found = looks(flow()("task?", seed=1))
    assert found == Looks(changed=1, injected=1, detected=1, clean=1, alarms=1)
    assert detection([flow()("task?", seed=1)], lambda n, out: False).attack_success == 0.0


def test_what_a_reviewer_lets_through_was_found_and_released():
    out = flow(review="ACCEPT")("task?", seed=1)
    assert looks(out) == Looks(changed=1, injected=1, detected=1, released=1, adopted=True)
    told = detection([out], lambda n, out: False)
    assert (told.detected, told.false_release, told.attack_success) == (1.0, 1.0, 1.0)
    assert detection([out], lambda n, out: True).attack_success == 0.0  # the answer is right


def test_an_answer_in_other_words_adopts_the_error_unless_the_task_says_it_too():
    (wrong,) = events(flow()("task?", seed=1), "inject")[0]["wording"]
    again = flow(f"I agree: {wrong}!")
    assert looks(again("task?", seed=1)).adopted
    assert not looks(flow(f"I agree: {wrong}!")(f"is it {wrong}?", seed=1)).adopted


def test_work_that_was_never_screened_is_counted_as_changed_alone():
    out = flow(passes=lambda state: True, screening="none", budget=Budget(calls=1))("t?", seed=1)
    assert looks(out) == Looks(changed=1, adopted=True)
    assert detection([out]).detected is None


def test_runs_without_screening_tell_nothing_and_events_of_experts_do_not_count():
    told = Event(kind="review", role="tester", detail={"round": 1, "passed": False})
    assert looks(Output("x", trace=(told,))) is None
