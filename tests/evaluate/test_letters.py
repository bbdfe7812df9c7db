"""Options are read by letter or by text, never inside a word."""

import pytest

from agentprim.evaluate.tasks.letters import choose_option

OPTIONS = ["Aspirin", "Aspirin and heparin", "Colorectal cancer", "Barrett oesophagus"]


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("**C**", "C"),
        ("the answer is B", "B"),
        ("The answer is (C).", "C"),
        ("Answer: D", "D"),
        ("Answer\n\nC", "C"),
        ("The correct answer is **C: Colorectal cancer**.", "C"),
        ("C. Colorectal cancer", "C"),
        ("\\boxed{\\text{(D)}}", "D"),
        ("It is not (A) but (C)", "C"),
        ("Colorectal cancer", "C"),
        ("I would say it is colorectal cancer.", "C"),
        ("Aspirin and heparin", "B"),
        ("The answer is aspirin.", "A"),
        ("The answer is A. Thinking again, the answer is C.", "C"),
        ("The answer is Barrett oesophagus", "D"),
        ("The answer is B.\n\nOption A is incorrect, since it bleeds.", "B"),
        ("The answer is B. Option C would be the choice of few.", "B"),
        ("Option B is correct. Option A is wrong.", "B"),
        ("B is the correct answer.", "B"),
        ("A is wrong, and **D** is right.", "D"),
        ("Answer: b", "B"),
        ("The answer is (b).", "B"),
        ("The answer is a.", "A"),
        ("the answer is a drug.", None),
        ("The answer is Cancer", None),
        ("Final answer: C-reactive protein", None),
        ("A patient with Crohn disease", None),
        ("the answer is a disease", None),
        ("Vitamin C deficiency", None),
        ("A. x\nB. y\nC. z\nD. w", None),
        ("Aspirin or colorectal cancer", None),
        ("", None),
    ],
)
def test_the_named_option_is_read(text, letter):
    assert choose_option(text, OPTIONS) == letter


def test_options_of_signs_are_told_apart():
    assert (
        choose_option("\u2193 \u2191 \u2193", ["\u2193 \u2193 \u2193", "\u2193 \u2191 \u2193"])
        == "B"
    )
