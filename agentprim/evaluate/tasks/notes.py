"""Notes: read a few notes and answer a question about one fact. Made here, from a seed."""

from pathlib import Path

from agentprim.evaluate.base import Grade, Item
from agentprim.evaluate.tasks.words import contains, spoken
from agentprim.trust.items import Fact, make_item

_KINDS = {"Where": "place", "Which": "town", "On": "day", "What": "code"}


class Notes:
    """Two notes of three facts each, and a question that a phrase of one of them answers.

    About 110 tokens of notes; answers of one to seven words. `item.more["material"]` are the notes
    and `item.more["ask"]` the question without them, so that notes can be handed over as text or as
    keys and values: `item.question` is the material, an empty line, and what is asked.
    """

    name = "notes"
    about = "notes made here from a seed: find one fact among six; no data set is needed"

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Make items, the kinds of questions taking turns.

        Args:
            path: Must be None.
            limit: How many; None makes 100.
            seed: Another seed makes other notes.

        Raises:
            ValueError: A path is given, or the limit is negative.
        """
        count = made_here(self.name, path, limit, 100)
        items, index, kinds = [], 0, list(_KINDS.values())
        while len(items) < count:
            made = make_item(index, 2, seed=seed)
            index += 1
            if kind_of(made.fact) == kinds[len(items) % len(kinds)]:
                material = "\n".join(note.text for note in made.notes)
                items.append(asked(f"notes/{seed}/{index - 1}", material, made.fact))
        return items

    def grade(self, item: Item, text: str) -> Grade:
        """Look for the words of the answer."""
        return grade_words(item.answer, text)

    def extract(self, item: Item, text: str) -> str | None:
        """Read all words; see `Task`."""
        return spoken(text)


def asked(id: str, material: str, fact: Fact, *, group: str = "", more: dict | None = None) -> Item:
    """Make an item from material that can be handed over and a question about it."""
    ask = f"{fact.question} Answer in a few words."
    return Item(
        id=id,
        question=f"{material}\n\n{ask}",
        answer=fact.answer,
        group=group or kind_of(fact),
        more={"material": material, "ask": ask, **(more or {})},
    )


def grade_words(answer: str, text: str) -> Grade:
    """Grade an answer that must contain certain words."""
    if not text.strip():
        return Grade(correct=False, extracted=None, reason="no answer")
    correct = contains(text, answer)
    return Grade(correct=correct, extracted=text.strip(), reason="" if correct else "wrong")


def kind_of(fact: Fact) -> str:
    """Name what a fact's question asks for."""
    return _KINDS[fact.question.split()[0]]


def made_here(name: str, path: Path | None, limit: int | None, usual: int) -> int:
    """Return how many items to make.

    Raises:
        ValueError: A path is given, or the limit is negative.
    """
    if path is not None:
        raise ValueError(f"path must be None for {name}, which makes its items, got {path}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit must not be negative, got {limit}")
    return usual if limit is None else limit
