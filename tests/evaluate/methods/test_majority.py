"""Answers are read out of texts, counted, and told from verdicts in words."""

import pytest

from agentprim.evaluate.methods.importance import importance, read_scores
from agentprim.evaluate.methods.last import last_answer
from agentprim.evaluate.methods.majority import majority
from agentprim.evaluate.methods.verdict import listed, opens


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"first \boxed{1}, then \boxed{\frac{1}{2}} and 7", r"\frac{1}{2}"),
        (r"open \boxed{3 and 12", "12"),
        ("It costs $1,200, or 3.00.", "3"),
        ("H2O it is\n  Yes,  of COURSE. \n", "yes of course"),
        ("", None),
        (" \n", None),
        ("...", None),
        ("<think>\\boxed{3}</think>It is 7.", "7"),
        ("<think>It is 4, or", "4"),
    ],
)
def test_the_default_reads_the_answer_of_a_text(text, answer):
    assert last_answer(text) == answer


def test_a_majority_is_the_first_text_of_the_most_frequent_answer():
    assert majority(["1", "2", "2"]) == 1
    assert majority(["1", "2", "3"]) == 0  # a tie goes to the first
    assert majority([None, "2", None]) == 1  # no answer is no vote
    assert majority([None, None]) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("CORRECT", True), ("Correct.", True), ("**CORRECT**", True), ("correct\nbecause", True),
        ("CORRECT because", True), ("Correct the sign.", False), ("INCORRECT", False),
        ("It is correct.", False), ("", False),
        ("Is it? CORRECT or wrong?\n</think>\n\nCORRECT", True), ("CORRECT?</think>No.", False),
    ],
)  # fmt: skip
def test_a_verdict_is_a_first_word_that_stands_alone(text, told):
    assert opens(text, "correct") is told


def test_entries_of_a_list_are_found_between_other_lines():
    assert listed("Sure:\n1. A chemist\n 2) a judge \n- a nurse\n\nDone") == [
        "A chemist", "a judge", "a nurse",
    ]  # fmt: skip
    assert listed("1. Who is needed?</think>1. A chemist") == ["A chemist"]


def test_scores_are_read_where_there_are_as_many_as_answers():
    assert read_scores("[3, 5] It is 4.", 2) == ([3, 5], " It is 4.")
    assert read_scores("[3, 5, 1] It is 4.", 2) == ([0, 0], "[3, 5, 1] It is 4.")
    assert read_scores("[1, 1]?</think>[3, 5] It is 4.", 2) == ([3, 5], "[1, 1]?</think> It is 4.")
    assert read_scores("[9, 9] It is 4.", 2) == ([0, 0], "[9, 9] It is 4.")


def test_importance_flows_back_by_the_share_of_scores():
    weights = [{0: {}, 1: {}, 2: {}}, {0: {0: 1, 1: 3, 2: 0}, 1: {0: 0, 1: 0, 2: 0}}]
    # the last round: 0 and 1 agree, so 1/2 each; 0 gives 1/4 and 3/4 of it, 1 a third to each
    found = importance(weights, [0, 1])
    assert found == pytest.approx({0: 0.5 + 1 / 8 + 1 / 6, 1: 0.5 + 3 / 8 + 1 / 6, 2: 1 / 6})
    assert importance(weights, [1]) == pytest.approx({0: 1 / 3, 1: 4 / 3, 2: 1 / 3})
