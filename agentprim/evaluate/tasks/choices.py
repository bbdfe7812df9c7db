"""MedQA and GPQA-Diamond: questions with lettered options."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from agentprim.evaluate.base import Grade, Item
from agentprim.evaluate.tasks.letters import LETTERS, choose_option
from agentprim.evaluate.tasks.rows import hub_rows, read_rows
from agentprim.evaluate.tasks.sample import sample


class MedQA:
    """Medical board questions with four options."""

    name = "medqa"
    about = "MedQA, 4 options (GBaker/MedQA-USMLE-4-options or a .jsonl): medicine, real data"

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Load questions, grouped by examination where the rows name it; see `Task.load`.

        Options are a list, with or without letters, or an object by letter; the answer is a text.
        """
        rows = read_rows(path) if path else hub_rows("GBaker/MedQA-USMLE-4-options")
        return sample([_medqa(number, row) for number, row in enumerate(rows)], limit, seed)

    def grade(self, item: Item, text: str) -> Grade:
        """Read the letter or the text of an option."""
        return grade_choice(item, text)

    def extract(self, item: Item, text: str) -> str | None:
        """Read the letter of an option; see `Task`."""
        return choose_option(text, item.more["options"])


class GPQADiamond:
    """Graduate questions of biology, physics and chemistry with four options."""

    name = "gpqa_diamond"
    about = (
        "GPQA Diamond (Idavidrein/gpqa, or gpqa_diamond.csv): 198 graduate questions; "
        "its reader was never tried on its real data"
    )

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Load questions, grouped by domain; see `Task.load`.

        The order of options is drawn from the record, and so the same for any `seed`.
        """
        rows = read_rows(path) if path else hub_rows(
            "Idavidrein/gpqa", subset="gpqa_diamond", split="train"
        )  # fmt: skip
        return sample([_gpqa(number, row) for number, row in enumerate(rows)], limit, seed)

    def grade(self, item: Item, text: str) -> Grade:
        """Read the letter or the text of an option."""
        return grade_choice(item, text)

    def extract(self, item: Item, text: str) -> str | None:
        """Read the letter of an option; see `Task`."""
        return choose_option(text, item.more["options"])


def grade_choice(item: Item, text: str) -> Grade:
    """Grade the letter that an answer names; `item.more["options"]` are the texts."""
    found = choose_option(text, item.more["options"])
    if found is None:
        return Grade(correct=False, extracted=None, reason="no answer")
    correct = found == item.answer
    return Grade(correct=correct, extracted=found, reason="" if correct else "wrong")


def choice_item(id: str, question: str, options: Sequence[str], right: str, group: str) -> Item:
    """Make an item: the question, lettered options, and the letter of the right one.

    Raises:
        ValueError: The right answer is not among the options.
    """
    if right not in options:
        raise ValueError(f"answer of {id} must be one of its options, got {right!r}")
    listed = [f"{LETTERS[place]}. {option}" for place, option in enumerate(options)]
    return Item(
        id=id,
        question="\n".join([question, *listed, "Answer with the letter of the right option."]),
        answer=LETTERS[options.index(right)],
        group=group,
        more={"options": list(options)},
    )


def _medqa(number: int, row: dict) -> Item:
    options = row["options"]
    if isinstance(options, dict):
        options = [options[letter] for letter in sorted(options)]
    options = [_bare(option, LETTERS[place]) for place, option in enumerate(options)]
    question = row["question"].strip()
    # some files repeat the options inside the question, even twice
    block = "\n".join(f"{LETTERS[place]}. {option}" for place, option in enumerate(options))
    while question.endswith(block):
        question = question.removesuffix(block).rstrip()
    right = _bare(row["answer"], row["answer"][:1])
    right = row["answer"] if row["answer"] in options else right
    return choice_item(f"medqa/{number}", question, options, right, str(row.get("meta_info") or ""))


def _bare(option: str, letter: str) -> str:
    """Remove the letter from the front of an option."""
    for front in (f"{letter}. ", f"{letter}) ", f"({letter}) "):
        if option.startswith(front):
            return option.removeprefix(front).strip()
    return option.strip()


def _gpqa(number: int, row: dict) -> Item:
    # `datasets` makes numbers of a column that has no text, and nothing of the text "None"
    columns = ("Correct Answer", *(f"Incorrect Answer {place}" for place in (1, 2, 3)))
    options = [str(row[column]).strip() for column in columns]
    right = options[0]
    Random(f"options {row.get('Record ID') or row['Question']}").shuffle(options)
    group = str(row.get("High-level domain") or "")
    return choice_item(f"gpqa/{number}", row["Question"].strip(), options, right, group)
