"""Mathematics is graded by meaning."""

import threading

import pytest

pytest.importorskip("math_verify")

from agentprim.evaluate.tasks.boxed import last_boxed  # noqa: E402
from agentprim.evaluate.tasks.mathematics import grade_mathematics  # noqa: E402


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("\\frac{14}{3}", "So it is \\boxed{\\frac{14}{3}}."),
        ("\\frac{14}{3}", "The answer is 14/3."),
        ("0.5", "\\boxed{\\dfrac12}"),
        ("1,234", "\\boxed{1234}"),
        ("29", "\\boxed{\\$29.00}"),
        ("-3", "\\boxed{\u22123}"),
        ("4", "3 4"),
        ("5", "\\boxed{5.}"),
        ("90^\\circ", "\\boxed{90}"),
        ("\\text{Evelyn}", "\\boxed{Evelyn}"),
        ("\\left( 3, \\frac{\\pi}{2} \\right)", "$\\boxed{(3, \\pi/2)}$"),
        ("3, 5, 7", "\\boxed{3,5,7}"),
        ("6+9i", "\\boxed{9i + 6}"),
        ("204", "It takes $204$ minutes."),
        ("70", "The answer is: **70**"),
        ("\\frac{1}{2}", "The answer is $\\frac12$. I hope this answers the question."),
        ("\\sqrt{2}", "The final answer is $\\sqrt{2}$. My answer was checked twice."),
        ("7", "Therefore, the answer is\n\\[\n7.\n\\]"),
        ("36", "The answer is $\\$36$."),
        ("7", "The answer to 3 + 4 is 7."),
        ("5", "Answer\n\n5"),
    ],
)
def test_what_means_the_same_is_right(gold, text):
    assert grade_mathematics(gold, text).correct


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("(1,2)", "\\boxed{(2,1)}"),
        ("5", "\\boxed{-5}"),
        ("\\frac{1}{2}", "\\boxed{\\frac{1}{3}}"),
        ("\\text{Evelyn}", "\\boxed{Carla}"),
        ("3", "\\boxed{}"),
        ("3", ""),
    ],
)
def test_what_means_something_else_is_wrong(gold, text):
    assert not grade_mathematics(gold, text).correct


def test_no_expression_is_no_answer():
    assert grade_mathematics("3", "I do not know").reason == "no answer"


def test_the_last_complete_box_counts():
    assert last_boxed("\\boxed{1} and \\boxed{\\frac{2}{3}} and \\boxed{4") == "\\frac{2}{3}"
    assert last_boxed("\\boxed{\\{1, 2\\}}") == "\\{1, 2\\}"
    assert last_boxed("no box") is None


def test_a_thread_may_grade_too():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(grade_mathematics("1/2", "\\boxed{0.5}").correct)
    )
    thread.start()
    thread.join()
    assert found == [True]
