"""Rank texts by how well they fit a query: by words (BM25), or by vectors of a function."""

import re
from collections.abc import Callable, Sequence

import bm25s
import numpy as np

Embed = Callable[[Sequence[str]], np.ndarray]
_WORD = re.compile(r"[^\W_]+")
# what stands in any question says nothing about it
_STOP = frozenset(
    "a an and are as at be by do does for from has have how if in is it its me my of on or our "
    "please that the their them then there these this to us was we what when where which who why "
    "will with you your".split()
)


# what the form of a query says about its task, in words that patterns use
_FORMS = (
    (re.compile(r"\d\s*[-+*/^\u00d7\u00f7]\s*\d"), "arithmetic expression math number"),
    (re.compile(r"(?:\bA[).:].*\bB[).:])", re.S), "multiple choice option"),
    (re.compile(r"```|\bdef \w+\(|\breturn\b.*;|>>> "), "code python function program"),
    (re.compile(r"\\(?:frac|sqrt|boxed|sum|int)\b|\$[^$]+\$"), "mathematics problem expression"),
)


class Words:
    """BM25 over a fixed list of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Index the texts."""
        self._count, self._index = len(texts), None
        tokens = [words(text) or ["-"] for text in texts]
        if tokens:
            self._index = bm25s.BM25()
            self._index.index(tokens, show_progress=False)

    def __call__(self, query: str) -> np.ndarray:
        """Return a score of each text, float `[n]`, 0 where no word is shared."""
        said = " ".join([query, *(more for form, more in _FORMS if form.search(query))])
        asked = [word for word in words(said) if self._index and word in self._index.vocab_dict]
        if not asked:
            return np.zeros(self._count)
        return np.nan_to_num(np.asarray(self._index.get_scores(asked), dtype=float))


class Vectors:
    """Cosine of embeddings over a fixed list of texts."""

    def __init__(self, texts: Sequence[str], embed: Embed) -> None:
        """Embed the texts."""
        self._embed, self._count = embed, len(texts)
        self._found = _unit(embed(list(texts))) if texts else np.zeros((0, 1))

    def __call__(self, query: str) -> np.ndarray:
        """Return a score of each text, float `[n]`, from 0 to 1."""
        if not self._count:
            return np.zeros(0)
        return (1 + self._found @ _unit(self._embed([query]))[0]) / 2


def words(text: str) -> list[str]:
    """Split a text into lower-case words without numbers, endings of number and tense cut."""
    found = (word.lower() for word in _WORD.findall(text))
    # a number in a query is data: it says nothing about its kind
    return [_stem(w) for w in found if w not in _STOP and len(w) > 1 and not w.isdigit()]


def _stem(word: str) -> str:
    for ending, least in (("ing", 6), ("ies", 5), ("es", 5), ("ed", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            stem = word.removesuffix(ending)
            return stem + "y" if ending == "ies" else stem.removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word


def _unit(vectors) -> np.ndarray:
    """Scale rows to length 1; a row that is nothing, or no number, stays 0."""
    rows = np.nan_to_num(np.asarray(vectors, dtype=float), posinf=0.0, neginf=0.0)
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
