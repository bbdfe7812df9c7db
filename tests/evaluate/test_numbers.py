"""One function reads numbers out of gold answers and predictions alike."""

import pytest

from agentprim.evaluate.tasks.gsm8k import grade_number
from agentprim.evaluate.tasks.numbers import last_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The total is 72 clips, altogether.", "72"),
        ("costs $29.00.", "29"),
        ("1,234 in all.", "1234"),
        ("\u22123", "-3"),
        ("-3", "-3"),
        ("3 4", "4"),
        ("no number, none at all", None),
        (",", None),
        ("", None),
        ("It is $-5", "-5"),
        ("It is -$5", "-5"),
        ("7 - 3", "3"),
        ("7-3", "3"),
        ("1,2,3", "3"),
        ("12,34", "34"),
        ("**$1,234.50**", "1234.5"),
        ("0.50", "0.5"),
        ("1e3", "1000"),
        ("-0", "0"),
        ("x2 and A16", None),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_the_last_number_is_read_in_one_form(text, number):
    assert last_number(text) == number


@pytest.mark.parametrize(
    ("gold", "text", "correct"),
    [
        ("1,000", "So she has 1000.", True),
        ("29", "It costs $29.00.", True),
        ("18", "\\boxed{18} after 3 tries", True),
        ("18", "#### 18", True),
        ("3", "18", False),
        ("18", "\\boxed{} 18", True),
    ],
)
def test_the_last_box_or_the_last_number_decides(gold, text, correct):
    assert grade_number(gold, text).correct is correct


def test_no_number_is_no_answer():
    grade = grade_number("5", "I cannot say, sorry.")
    assert (grade.correct, grade.extracted, grade.reason) == (False, None, "no answer")
