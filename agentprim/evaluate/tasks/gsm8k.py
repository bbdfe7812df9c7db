"""GSM8K: grade school word problems whose answers are numbers."""

from pathlib import Path

from agentprim.evaluate.base import Grade, Item
from agentprim.evaluate.tasks.boxed import last_boxed
from agentprim.evaluate.tasks.numbers import last_number
from agentprim.evaluate.tasks.rows import hub_rows, read_rows
from agentprim.evaluate.tasks.sample import sample


class GSM8K:
    """Word problems; the last box or the last number is the answer."""

    name = "gsm8k"
    about = "GSM8K test set (openai/gsm8k or its .jsonl): 1,319 word problems, real data"

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Load problems; see `Task.load`."""
        rows = read_rows(path) if path else hub_rows("openai/gsm8k", subset="main")
        items = [
            Item(
                id=f"gsm8k/{number}",
                question=f"{row['question'].strip()}\nEnd with the answer, a number.",
                answer=row["answer"].rpartition("####")[2].strip(),
            )
            for number, row in enumerate(rows)
        ]
        return sample(items, limit, seed)

    def grade(self, item: Item, text: str) -> Grade:
        """Compare numbers, both read by one function."""
        return grade_number(item.answer, text)

    def extract(self, item: Item, text: str) -> str | None:
        """Read a number; see `Task`."""
        return final_number(text)


def grade_number(gold: str, text: str) -> Grade:
    """Grade an answer that is a number."""
    found = final_number(text)
    if found is None:
        return Grade(correct=False, extracted=None, reason="no answer")
    correct = found == last_number(gold)
    return Grade(correct=correct, extracted=found, reason="" if correct else "wrong")


def final_number(text: str) -> str | None:
    """Return the number in the last box, otherwise the last number, or None."""
    return last_number(last_boxed(text) or "") or last_number(text)
