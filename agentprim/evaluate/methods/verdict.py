"""Verdicts: read from a reply in words what it decided."""

import re


def opens(text: str, word: str) -> bool:
    """Tell whether a text begins with a word as a verdict.

    In capitals it is one in any case, else only where its sentence ends behind it: "Correct the
    sign" says that something is wrong.
    """
    beginning = rf"\W*(?:{word.upper()}\b|(?i:{word})\s*(?:[.!,:;\])*\n]|$))"
    return re.match(beginning, text) is not None


def listed(text: str) -> list[str]:
    """Return the entries of a numbered or bulleted list in a text."""
    return [one.strip() for one in re.findall(r"(?m)^\s*(?:\d+[.):]|[-*•])\s*(\S.*)$", text)]


def numbers(text: str) -> list[int]:
    """Return all whole numbers of a text, in order."""
    return [int(one) for one in re.findall(r"\d+", text)]
