"""Wording: what a changed text says in the place of its change, and whether others say it."""

import re
from collections.abc import Sequence

_TOKEN = re.compile(r"\d+(?:\.\d+)?|\w+|[^\w\s]")


def wording(before: str, after: str) -> list[str]:
    """Return the tokens of the place where a text was changed.

    A number stands for itself; all else comes with the tokens beside it, since a sign or a small
    word says nothing alone.
    """
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    begin = _alike(old, new)
    left = min(len(old), len(new)) - begin
    end = len(new) - min(left, _alike(old[::-1], new[::-1]))
    if end - begin == 1 and new[begin][0].isdigit():
        return new[begin:end]
    return new[max(0, begin - 1) : end + 1]


def says(text: str, words: Sequence[str]) -> bool:
    """Tell whether tokens stand in a text one after the other, whatever space is between them."""
    found, n = _TOKEN.findall(text), len(words)
    return n > 0 and any(found[i : i + n] == list(words) for i in range(len(found) - n + 1))


def _alike(these: list[str], others: list[str]) -> int:
    """Count equal tokens from the begin."""
    pairs = enumerate(zip(these, others, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(these), len(others)))
