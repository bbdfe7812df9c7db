"""What a run cost is told by activity, and compared with a control on the run's own figures."""

import pytest

from agentprim import Output, Usage
from agentprim.workflow.lite import Budget, LiteWorkflow
from agentprim.workflow.lite.account import Prices, lines, savings
from agentprim.workflow.lite.detection import detection
from agentprim.workflow.lite.inject import KINDS, Injection, mutate
from tests.workflow.lite.script import Scripted, decider

PRICES = Prices(read=1e6, written=2e6, decided=0.5e6)  # one a token read, two a token written


def lite(passes=lambda s: True, **options):
    return LiteWorkflow(
        [Scripted("a", "x"), Scripted("b", "y")], decider(["a", "b"], passes),
        Scripted("r", "ACCEPT"), **options,
    )  # fmt: skip


def test_each_activity_is_told_with_its_share():
    out = lite()("task?")
    found = {line.activity: line for line in lines(out.usage, PRICES)}
    assert found["execution"].calls == 2 and found["execution"].tokens == 24
    assert found["execution"].money == 2 * (10 + 2 * 2)
    assert found["execution"].token_share == 1.0
    assert found["screening"].decisions == 2 and found["screening"].decided == 10
    assert found["screening"].money == 5 and found["routing"].decided == 21
    assert out.usage.decision_tokens == 31 and out.usage.decoded == 4


def test_screening_pays_where_it_costs_less_than_the_reviews_it_avoids():
    run, control = lite()("task?"), lite(screening="llm")("task?")
    found = savings([run], [control], PRICES)
    assert found.screening_cost == 5 and found.avoided_review_cost == 2 * 14 and found.pays
    assert found.calls == 1 - 2 / 4 and found.tokens == 1 - 24 / 48
    flagged = lite(lambda s: False)("task?")
    assert not savings([flagged], [control], PRICES).pays
    assert savings([run], [control]).money is None
    with pytest.raises(ValueError, match="control must have 1 tasks"):
        savings([run], [])


def test_a_comparison_with_nothing_says_so():
    empty = Output("", usage=Usage())
    assert savings([empty], [empty]).tokens is None


@pytest.mark.parametrize(
    ("kind", "text", "changed"),
    [
        ("value", "It costs 12.50 in all", True),
        ("operator", "3 + 4 = 7", True),
        ("code", "if a == b:", True),
        ("value", "no number", False),
        ("operator", "a-b and -1", False),
        ("code", "plain words", False),
    ],
)
def test_a_mutation_changes_one_place_and_the_same_by_the_same_seed(kind, text, changed):
    found = [mutate(text, kind, seed) for seed in range(8)]
    assert found == [mutate(text, kind, seed) for seed in range(8)]
    assert all((one is not None and one != text) == changed for one in found)
    if kind == "value" and changed:
        assert all(one.startswith("It costs ") and one.endswith(" in all") for one in found)
        assert all(len(one.split(".")[1].split()[0]) == 2 for one in found)


def test_a_mutation_of_no_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of"):
        mutate("x", "spelling", 0)
    with pytest.raises(ValueError, match="rate must be between"):
        Injection(kind="value", rate=2)
    assert KINDS == ("value", "operator", "code")


def test_detection_is_read_from_the_traces():
    flow = LiteWorkflow(
        [Scripted("a", "the sum is 5")], decider(passes=lambda s: "is 5" in s.split("a: ")[-1]),
        screening="decider", repairs=0, inject=Injection(kind="value", rate=0.5),
        budget=Budget(calls=1),
    )  # fmt: skip
    outs = flow([f"task {n}?" for n in range(40)], seed=0)
    found = detection(outs, correct=lambda number, out: out == "the sum is 5")
    assert 10 <= found.injected <= 30 and found.injected + found.clean == 40
    assert found.detected == 1.0 and found.false_release == 0.0 and found.false_alarm == 0.0
    assert found.attack_success == 1.0  # with no budget for a repair it is the answer
    blind = LiteWorkflow(
        [Scripted("a", "the sum is 5")], decider(), screening="decider", budget=Budget(calls=1),
        inject=Injection(kind="value"),
    )  # fmt: skip
    assert detection(blind(["t?"])).false_release == 1.0
    assert detection([]).detected is None
