"""Grade mathematics by meaning: the boxed or last expression against the gold one."""

import re
import threading

from agentprim.evaluate.base import Grade
from agentprim.evaluate.tasks.boxed import last_boxed
from agentprim.evaluate.tasks.numbers import last_number

_SAID = re.compile(
    r"\banswer\b(?:(?:\s+to\b[^.\n]*?)?\s+(?:is|are|would be|must be)\b|[*\s]*[:=]|\**[ \t]*\n)"
    r"\s*:?\**\s*",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r".*?(?=\.?\s*$|\.\s)", re.MULTILINE)
_FORMULA = re.compile(r"\$\$?((?:\\.|[^\\$])+?)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_WRAP = re.compile(r"\\(?:text|mathrm|textbf|mathbf|operatorname)\s*\{([^{}]*)\}")
_IDLE = re.compile(r"\\(?:left|right|displaystyle|[!,;: ])|[\s$%]|\\%|\^\\circ|\^\{\\circ\}")
_NUMBER = re.compile(r"-?\\?\$?-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?\.?")


def grade_mathematics(gold: str, text: str) -> Grade:
    r"""Grade an answer: right where it is the same text, or the same in mathematics.

    What is compared is the last `\boxed`, otherwise what follows the last "answer is" or "answer:"
    that an expression follows, otherwise the last formula, otherwise the last number. Both sides
    are read by the same functions.

    Args:
        gold: A LaTeX expression, without dollar signs.
        text: What a model wrote.

    Raises:
        ImportError: The extra `evaluate` is not installed.
    """
    found = final_expression(text)
    if found is None:
        return Grade(correct=False, extracted=None, reason="no answer")
    correct = spelled(found) == spelled(gold) or _same(gold, found)
    return Grade(correct=correct, extracted=found, reason="" if correct else "wrong")


def final_expression(text: str) -> str | None:
    """Return the expression that a text ends with, or None."""
    boxed = last_boxed(text)
    if boxed:
        return boxed
    for said in reversed(list(_SAID.finditer(text))):
        stated = _stated(text[said.end() :])
        if stated:
            return stated
    formulas = _formulas(text)
    return formulas[-1] if formulas else last_number(text)


def _stated(rest: str) -> str | None:
    """Return the expression of the sentence that a text begins with, or None."""
    begins = _FORMULA.match(rest)  # which may go over several lines
    end = max(_SENTENCE.match(rest).end(), begins.end() if begins else 0)
    tail = rest[:end].strip("*` \n")
    formulas = _formulas(tail)
    if formulas:
        return formulas[-1]
    if len(tail) <= 40 and re.search(r"[\d\\^=+*/]", tail):
        return tail
    return last_number(tail)


def _formulas(text: str) -> list[str]:
    found = (next(filter(None, match.groups())) for match in _FORMULA.finditer(text))
    return [formula.strip() for formula in found]


def comparable(text: str) -> str | None:
    """Return the expression that a text ends with in one spelling, or None.

    Numbers in other forms are the same text; other expressions that mean the same may not be.
    """
    found = final_expression(text)
    return None if found is None else spelled(_formula(found)) or None


def spelled(expression: str) -> str:
    """Return an expression without what means nothing: spaces, sizes, names of fonts."""
    text = expression.strip().strip("$").replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    return _IDLE.sub("", _WRAP.sub(r"\1", text)).rstrip(".")


def _same(gold: str, found: str) -> bool:
    """Ask math-verify, which stops itself by a signal and so only in the main thread."""
    try:
        from math_verify import parse, verify
    except ImportError as error:
        raise ImportError(
            "grading mathematics needs math-verify: `pip install agentprim[evaluate]`"
        ) from error
    seconds = 5 if threading.current_thread() is threading.main_thread() else None
    read = [parse(f"${_formula(side)}$", parsing_timeout=seconds) for side in (gold, found)]
    return bool(all(read) and verify(*read, timeout_seconds=seconds))


def _formula(expression: str) -> str:
    """Return an expression that a formula can hold: no dollar sign, a number in one form."""
    text = expression.strip().replace("\u2212", "-")
    if _NUMBER.fullmatch(text):
        return last_number(text)
    return text.replace("\\$", "").replace("$", "").rstrip(".")
