"""Compare answers in words, whatever their case, punctuation and articles."""

import re
import unicodedata

# arrows and mathematical signs are words too: some options are nothing else
_WORD = re.compile(r"\w+|[\u2190-\u22ff]")
_ARTICLES = {"a", "an", "the"}


def words(text: str) -> list[str]:
    """Return the words of a text: lower case, no punctuation, no accents, no articles."""
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter)).lower()
    return [word for word in _WORD.findall(plain) if word not in _ARTICLES]


def spoken(text: str) -> str | None:
    """Return the words of a text as one text, or None where there are none."""
    return " ".join(words(text)) or None


def contains(text: str, answer: str) -> bool:
    """Tell whether the words of an answer occur in a text, whole and in their order."""
    looked_for = words(answer)
    return bool(looked_for) and f" {' '.join(looked_for)} " in f" {' '.join(words(text))} "
