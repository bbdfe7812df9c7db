"""Verdicts: read from a reply in words what it decided, behind its reasoning."""

import re

from agentprim.agent.aloud import aloud


def opens(text: str, word: str) -> bool:
    """Tell whether a text begins with a word as a verdict.

    In capitals it is one in any case, else only where its sentence ends behind it: "Correct the
    sign" says that something is wrong.
    """
    beginning = rf"\W*(?:{word.upper()}\b|(?i:{word})\s*(?:[.!,:;\])*\n]|$))"
    return re.match(beginning, aloud(text)) is not None


def listed(text: str) -> list[str]:
    """Return the entries of a numbered or bulleted list in a text."""
    return [one.strip() for one in re.findall(r"(?m)^\s*(?:\d+[.):]|[-*•])\s*(\S.*)$", aloud(text))]


def numbers(text: str) -> list[int]:
    """Return all whole numbers of a text, in order."""
    return [int(one) for one in re.findall(r"\d+", aloud(text))]
