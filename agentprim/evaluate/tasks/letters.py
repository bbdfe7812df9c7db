"""Read which option an answer names: by its letter or by its text, never inside a word."""

import re
from collections.abc import Sequence

from agentprim.evaluate.tasks.boxed import last_boxed
from agentprim.evaluate.tasks.words import words

LETTERS = "ABCDEFGHIJ"


def choose_option(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the option that an answer names, or None.

    In this order: the last box; the last "answer is" or "answer:"; the last "B is correct"; the
    last "option" or "choice" that is not called wrong; the text as a whole, where it is a letter,
    begins with one as lists do, or is an option's text; the last letter in brackets; the only
    option whose text occurs.

    Args:
        text: What a model wrote.
        options: Texts of the options, without letters, in their order.
    """
    letters = LETTERS[: len(options)]
    boxed = last_boxed(text)
    if boxed:
        found = _whole(re.sub(r"\\text\w*\{([^{}]*)\}", r"\1", boxed), options, letters)
        if found:
            return found
    return (
        _stated(text, "answer", options, letters)
        or _called_right(text, letters)
        or _stated(text, "option|choice", options, letters)
        or _whole(text, options, letters)
        or _listed(text, letters)
        or _bracketed(text, letters)
        or _only(text, options, letters)
    )


def _stated(text: str, word: str, options: Sequence[str], letters: str) -> str | None:
    """Return the option of the last statement of an answer that names one."""
    said = re.compile(rf"\b(?i:{word})(?:\s+(?i:is|would be|must be))?\W{{0,6}}")
    for match in reversed(list(said.finditer(text))):
        tail = text[match.end() - 1 :].lstrip(": \t\n")
        found = _leading(tail, letters) or _only(tail.split("\n")[0], options, letters)
        if found:
            return found
    return None


def _called_right(text: str, letters: str) -> str | None:
    said = rf"(?<![\w'’-])([{letters}])\W{{1,4}}(?i:is\s+(?:the\s+)?(?:correct|right|best))\b"
    found = re.findall(said, text)
    return found[-1] if found else None


def _leading(text: str, letters: str) -> str | None:
    """Return the letter that a text begins with, where it is one and not a word's.

    A small one counts where nothing of a sentence follows: "a disease" names no option. Nor does
    one that is said to be wrong.
    """
    front = r"[\s*(\[:_`\"']*(?:(?i:option)\s+)?\(?"
    wrong = r"(?!\W{1,4}(?i:(?:is|are)\s+(?:not|wrong|incorrect|false)))"
    match = re.match(rf"{front}([{letters}])(?![\w'’-]){wrong}", text)
    match = match or re.match(rf"{front}([{letters.lower()}])(?=[.):\]*]*\s*(?:\n|$))", text)
    return match[1].upper() if match else None


def _whole(text: str, options: Sequence[str], letters: str) -> str | None:
    bare = text.strip().strip("*_`()[]{}.:;\"' \t\n")
    if len(bare) == 1 and bare.upper() in letters:
        return bare.upper()
    match = re.match(rf"\W*([{letters}])\s*[.):]", text.strip())
    if match and "\n" not in text.strip():
        return match[1]
    spoken = [words(option) for option in options]
    return letters[spoken.index(words(bare))] if spoken.count(words(bare)) == 1 else None


def _listed(text: str, letters: str) -> str | None:
    """Return the letter of the only option that is repeated as in a list."""
    found = set(re.findall(rf"^\W*([{letters}])[.):]\s", text, flags=re.MULTILINE))
    return found.pop() if len(found) == 1 else None


def _bracketed(text: str, letters: str) -> str | None:
    found = re.findall(rf"\(([{letters}])\)", text)
    return found[-1] if found else None


def _only(text: str, options: Sequence[str], letters: str) -> str | None:
    """Return the letter of the only option whose text occurs, a longer one hiding its parts."""
    left = f" {' '.join(words(text))} "
    found = []
    spoken = [" ".join(words(option)) for option in options]
    for place in sorted(range(len(options)), key=lambda place: -len(spoken[place])):
        if spoken[place] and f" {spoken[place]} " in left:
            found.append(place)
            left = left.replace(f" {spoken[place]} ", " | ")
    return letters[found[0]] if len(found) == 1 else None
