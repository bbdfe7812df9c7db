"""The rules of the loop, with scripted experts."""

import pytest

from agentprim import Decider
from agentprim.workflow.lite import Budget, Expert, LiteWorkflow
from agentprim.workflow.lite.screen import accepts
from tests.workflow.lite.script import Oracle, Scripted, decider, events

ACCEPTING = ("ACCEPT",)


def test_a_pass_never_ends_a_run_only_stop_does():
    a, b = Scripted("a", "one"), Scripted("b", "two")
    flow = LiteWorkflow([a, b], decider(["a", "b", "a", "STOP"]), Scripted("r", *ACCEPTING))
    out = flow("task?")
    assert out == "one" and out.finish == "stop"
    assert [e["chosen"] for e in events(out, "route")] == ["a", "b", "a", "STOP"]
    assert all(e["passed"] for e in events(out, "screen")) and len(a.heard) == 2


def test_stop_cannot_be_chosen_before_there_is_work():
    oracle = Oracle(["a"])
    LiteWorkflow([Scripted("a", "x"), Scripted("b", "y")], Decider(oracle), Scripted("r", "no"))(
        "task?"
    )
    routes = [question.options for question, _ in oracle.asked if question.kind == "choose"]
    assert routes == [("a", "b"), ("a", "b", "STOP")]


def test_flagged_work_is_reviewed_repaired_and_screened_again():
    solver = Scripted("solver", "wrong", "right")
    reviewer = Scripted("reviewer", "The sum is off.")
    oracle = Oracle(["solver", "STOP"], passes=lambda state: "right" in state)
    out = LiteWorkflow([solver, Scripted("b", "-")], Decider(oracle), reviewer)("task?")
    assert out == "right"
    assert "The sum is off." in solver.heard[1] and "wrong" in solver.heard[1]
    assert [(e["artifact"], e["passed"]) for e in events(out, "screen")] == [(0, False), (1, True)]
    assert [e["passed"] for e in events(out, "review")] == [False]
    assert set(out.usage.roles) == {"routing", "execution", "screening", "review", "repair"}


def test_a_reviewer_may_accept_what_the_decider_flagged():
    flow = LiteWorkflow(
        [Scripted("a", "odd"), Scripted("b", "-")], decider(["a"], lambda s: False),
        Scripted("r", *ACCEPTING),
    )  # fmt: skip
    out = flow("task?")
    assert out == "odd" and len(events(out, "review")) == 1 and "repair" not in out.usage.roles


def test_repairs_end_at_their_limit_and_the_work_stays_unreleased():
    solver = Scripted("solver", "w0", "w1", "w2", "w3")
    flow = LiteWorkflow(
        [solver, Scripted("b", "good")], decider(["solver", "b"], lambda s: "good" in s),
        Scripted("r", "No."), repairs=2, budget=Budget(calls=20),
    )  # fmt: skip
    out = flow("task?")
    assert len(solver.heard) == 3 and out == "good"
    assert out.usage.roles["repair"].generative_calls == 2


@pytest.mark.parametrize(
    ("screening", "screens", "reviews"),
    [("none", 0, 0), ("decider", 3, 0), ("llm", 0, 3), ("cascade", 3, 3)],
)
def test_screenings_look_at_what_they_say(screening, screens, reviews):
    """A solver that never satisfies: three looks with two repairs."""
    flow = LiteWorkflow(
        [Scripted("a", "bad"), Scripted("b", "-")], decider(["a"], lambda s: False),
        Scripted("r", "No."), screening=screening, budget=Budget(calls=20),
    )  # fmt: skip
    out = flow("task?")
    assert (len(events(out, "screen")), len(events(out, "review"))) == (screens, reviews)


def test_work_without_a_checkpoint_is_not_screened():
    experts = [Expert(name="a", agent=Scripted("a", "x"), checkpoint=False)]
    out = LiteWorkflow(experts, decider(), Scripted("r", "No."))("task?")
    assert out == "x" and not events(out, "screen")


def test_at_the_end_of_the_budget_the_best_work_is_the_answer():
    a = Scripted("a", "kept", "flagged")
    flow = LiteWorkflow(
        [a, Scripted("b", "-")], decider(["a"] * 9, lambda s: "kept" in s.split("a: ")[-1]),
        Scripted("r", "No."), budget=Budget(calls=3),
    )  # fmt: skip
    out = flow("task?")
    assert out.finish == "budget" and out == "kept"
    assert out.usage.generative_calls == 3 and "below 3" in events(out, "budget")[0]["exceeded"]


def test_a_finalizer_makes_the_answer_of_a_spent_budget():
    flow = LiteWorkflow(
        [Scripted("a", "x"), Scripted("b", "-")], decider(["a"] * 9), Scripted("r", "No."),
        budget=Budget(tokens=30), finalizer=lambda task, work: f"{task} {len(work)}",
    )  # fmt: skip
    out = flow("task?")
    assert out == "task? 3" and out.finish == "budget"


def test_a_failing_expert_is_not_chosen_again_and_the_others_go_on():
    broken, sound = Scripted("broken", RuntimeError("no memory")), Scripted("sound", "answer")
    flow = LiteWorkflow([broken, sound], decider(["broken", "sound"]), Scripted("r", "No."))
    out = flow("task?")
    assert out == "answer" and len(broken.heard) == 1
    assert events(out, "failure")[0]["error"] == "RuntimeError: no memory"


def test_without_any_work_the_answer_says_so():
    flow = LiteWorkflow([Scripted("a", ValueError("no"))], decider(), Scripted("r", "No."))
    out = flow("task?")
    assert out == "" and out.finish == "failure" and out.usage.generative_calls == 0


def test_what_could_not_be_screened_is_not_released():
    def fail(state):
        raise TimeoutError("late")

    reviewer = Scripted("r", RuntimeError("away"))
    flow = LiteWorkflow([Scripted("a", "x")], decider(passes=fail), reviewer, repairs=0)
    out = flow("task?")
    assert [e["agent"] for e in events(out, "failure")] == ["decider", "r"]
    assert events(out, "screen")[0]["passed"] is False and out == "x"


def test_a_router_that_fails_is_replaced_by_the_rule():
    flow = LiteWorkflow(
        [Scripted("a", "x"), Scripted("b", "y")], decider([TimeoutError("late")] * 3),
        Scripted("r", *ACCEPTING),
    )  # fmt: skip
    out = flow("task?")
    assert [e["chosen"] for e in events(out, "route")] == ["a", "b", "STOP"]
    assert all(e["by"] == "rule" for e in events(out, "route"))


def test_the_router_in_words_names_someone_or_is_replaced():
    reviewer = Scripted("r", "a or b?</think>I think b.", "nobody", "STOP")
    flow = LiteWorkflow(
        [Scripted("a", "x"), Scripted("b", "y")], None, reviewer, router="llm", screening="none"
    )
    out = flow("task?")
    assert [e["chosen"] for e in events(out, "route")] == ["b", "a", "STOP"]
    assert out.usage.roles["routing"].generative_calls == 3


def test_without_feedback_the_router_sees_who_acted_and_not_what_they_said():
    for feedback in (True, False):
        oracle = Oracle(["a", "b"])
        LiteWorkflow(
            [Scripted("a", "secret"), Scripted("b", "y")], Decider(oracle),
            Scripted("r", *ACCEPTING), feedback=feedback,
        )("task?")  # fmt: skip
        routing = [state for question, state in oracle.asked if question.kind == "choose"]
        assert ("secret" in routing[1]) == feedback and "a: " in routing[1]


def test_tasks_side_by_side_are_those_one_by_one():
    def build():
        return LiteWorkflow(
            [Scripted("a", "one"), Scripted("b", "two")], None, Scripted("r", "No."),
            router="rule", screening="llm", repairs=1, budget=Budget(calls=5),
        )  # fmt: skip

    together = build()(["first?", "second?"], seed=3)
    alone = [build()(one, seed=3) for one in ("first?", "second?")]
    for out, other in zip(together, alone, strict=True):
        assert out == other and out.usage.total.to_dict() == other.usage.total.to_dict()
        assert [e.kind for e in out.trace] == [e.kind for e in other.trace]


def test_a_seed_for_each_task_is_used_as_it_is_and_one_for_all_is_spread():
    def seeds(given):
        a = Scripted("a", "x")
        flow = LiteWorkflow([a], None, router="rule", screening="none")
        flow(["first?", "second?"], seed=given)
        return sorted(a.seeds)

    assert seeds([9, 5]) == [5, 9] and seeds(None) == []
    first, second = seeds(3)
    assert first == 3 and second - first > 1000


def test_one_broken_task_of_a_batch_leaves_the_others_alone():
    class Picky(Scripted):
        engine = None  # an agent with a batch of its own

        def __call__(self, turns, **options):
            if any("bad" in turn for turn in turns):
                raise ValueError("cannot")
            return super().__call__(turns, **options)

    flow = LiteWorkflow([Picky("a", "x")], decider(), Scripted("r", *ACCEPTING))
    outs = flow(["good?", "bad?", "fine?"])
    assert [out.finish for out in outs] == ["stop", "failure", "stop"]


@pytest.mark.parametrize(
    ("review", "accepted"),
    [("ACCEPT", True), ("Accept.", True), ("accepted", True), ("ACCEPT it? Not yet.", False),
     ("I accept", False), ("", False), ("No", False),
     ("Is it right, or not?</think>\nACCEPT", True), ("ACCEPT?</think>No", False)],
)  # fmt: skip
def test_a_review_accepts_by_its_first_word(review, accepted):
    assert accepts(review) == accepted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"experts": []}, "at least one entry"),
        ({"experts": [Scripted("a", "x"), Scripted("a", "y")]}, "'a' twice"),
        ({"experts": {"STOP": Scripted("a", "x")}}, "another than"),
        ({"router": "oracle"}, "router must be one of"),
        ({"screening": "some"}, "screening must be one of"),
        ({"decider": None}, "decider must be given"),
        ({"reviewer": None}, "reviewer must be given"),
        ({"repairs": -1}, "repairs must be"),
        ({"comm": "smoke"}, "comm must be one of"),
    ],
)
def test_bad_teams_get_one_clear_error(options, message):
    given = {"experts": [Scripted("a", "x")], "decider": decider(), "reviewer": Scripted("r", "x")}
    with pytest.raises(ValueError, match=message):
        LiteWorkflow(**{**given, **options})
    with pytest.raises(ValueError, match="calls must be positive"):
        Budget(calls=0)
