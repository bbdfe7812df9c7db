"""Noise: unrelated sentences in a trace that one agent hands over to another."""

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

from agentprim.evaluate.base import Grade, Item
from agentprim.evaluate.tasks.filler import filler
from agentprim.evaluate.tasks.gsm8k import final_number, grade_number
from agentprim.evaluate.tasks.notes import asked, grade_words, made_here
from agentprim.evaluate.tasks.rows import read_rows
from agentprim.evaluate.tasks.words import spoken
from agentprim.trust.items import make_item

LEVELS = (0, 1, 3, 5, 10, 25)


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Every trace six times, with 0, 1, 3, 5, 10 and 25 sentences between its own.

    Groups are these numbers. The sentences of a level are those of the one before and further ones,
    at places drawn from the seed. `item.more["material"]` is the trace with its noise and
    `item.more["ask"]` the question without it, so that the trace can be handed over as text or as
    keys and values. Traces made here sum up notes; those of a file are GSM8K's own solutions
    without their last line, not solutions that a model wrote.
    """

    name: str = "noise"
    about: str = (
        "unrelated sentences in a handed-over trace made here from a seed, "
        "or in the solutions of a local GSM8K file"
    )

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Make or load items, the six levels of a trace one after the other.

        Args:
            path: A GSM8K file; None makes traces.
            limit: Most items; traces that do not fit six times are left out, but for the first.
                None makes 25 traces, or takes all.
            seed: Of the noise and of the traces, or of their choice.

        Raises:
            ValueError: The limit is negative.
        """
        if path is None:
            count = made_here(self.name, None, limit, 150)
            bases = [_made(index, seed) for index in range(-(-count // 6))]
        else:
            rows = read_rows(path)
            count = made_here(self.name, None, limit, 6 * len(rows))
            drawn = Random(seed).sample(range(len(rows)), min(len(rows), max(1, count // 6)))
            bases = [_solved(rows[number], number) for number in sorted(drawn)]
        return [item for base in bases for item in _noisy(*base, seed=seed)][:count]

    def grade(self, item: Item, text: str) -> Grade:
        """Look for the answer: a number for GSM8K, words otherwise."""
        if item.more["number"]:
            return grade_number(item.answer, text)
        return grade_words(item.answer, text)

    def extract(self, item: Item, text: str) -> str | None:
        """Read a number for GSM8K, all words otherwise; see `Task`."""
        return final_number(text) if item.more["number"] else spoken(text)


def _made(index: int, seed: int) -> tuple[Item, list[str]]:
    """Make a trace: what a reader of two notes wrote down, a sentence for each fact."""
    made = make_item(index, 2, seed=seed)
    parts = ["I read both notes and write down what they say."]
    for note in made.notes:
        parts += [f"{fact.again[:1].upper()}{fact.again[1:]}." for fact in note.facts]
    base = asked(f"noise/{seed}/{index}", "", made.fact, more={"number": False})
    return base, parts


def _solved(row: dict, number: int) -> tuple[Item, list[str]]:
    """Read a trace out of a row of GSM8K."""
    steps, _, answer = row["answer"].rpartition("####")
    steps = re.sub(r"<<[^<>]*>>", "", steps)
    parts = [step.strip() for step in steps.split("\n") if step.strip()]
    ask = f"{row['question'].strip()}\nEnd with the answer, a number."
    base = Item(
        id=f"noise/gsm8k/{number}", question="", answer=answer.strip(),
        more={"ask": ask, "number": True},
    )  # fmt: skip
    return base, parts


def _noisy(base: Item, parts: list[str], *, seed: int) -> list[Item]:
    """Make the six items of a trace."""
    random = Random(f"noise {seed} {base.id}")
    sentences = filler(random, LEVELS[-1])
    places = [random.randrange(len(parts) + 1) for _ in sentences]
    found = []
    for level in LEVELS:
        put = []
        for place in range(len(parts) + 1):
            put += [sentences[n] for n in range(level) if places[n] == place]
            put += parts[place : place + 1]
        material = " ".join(put)
        found.append(
            Item(
                id=f"{base.id}/{level}",
                question=f"{material}\n\n{base.more['ask']}",
                answer=base.answer,
                group=str(level),
                more={**base.more, "material": material},
            )
        )
    return found
