"""MATH-500 and AIME: competition problems, graded by mathematical meaning."""

from dataclasses import dataclass
from pathlib import Path

from agentprim.evaluate.base import Grade, Item
from agentprim.evaluate.tasks.mathematics import comparable, grade_mathematics
from agentprim.evaluate.tasks.rows import hub_rows, read_rows
from agentprim.evaluate.tasks.sample import sample


@dataclass(frozen=True, kw_only=True)
class Competition:
    """Problems with fields `problem` and `answer`, and `subject` where there is one.

    Attributes:
        name: As on the command line.
        about: One line.
        hub: Data set on the hub.
        split: Of that.
    """

    name: str
    about: str
    hub: str
    split: str

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Load problems, grouped by subject; see `Task.load`."""
        rows = read_rows(path) if path else hub_rows(self.hub, split=self.split)
        items = [
            Item(
                id=f"{self.name}/{number}",
                question=f"{row['problem'].strip()}\nPut the final answer in \\boxed{{}}.",
                answer=str(row["answer"]),
                group=str(row.get("subject") or ""),
            )
            for number, row in enumerate(rows)
        ]
        return sample(items, limit, seed)

    def grade(self, item: Item, text: str) -> Grade:
        """Compare expressions; see `grade_mathematics`."""
        return grade_mathematics(item.answer, text)

    def extract(self, item: Item, text: str) -> str | None:
        """Read an expression, compared as it is spelled; see `Task`."""
        return comparable(text)


MATH500 = Competition(
    name="math500",
    about="MATH-500 (HuggingFaceH4/MATH-500 or its .jsonl): 500 competition problems, real data",
    hub="HuggingFaceH4/MATH-500",
    split="test",
)
AIME24 = Competition(
    name="aime24",
    about="AIME 2024 (HuggingFaceH4/aime_2024 or a .jsonl): 30 problems, real data",
    hub="HuggingFaceH4/aime_2024",
    split="train",
)
AIME25 = Competition(
    name="aime25",
    about="AIME 2025 (math-ai/aime25 or a .jsonl): 30 problems, real data",
    hub="math-ai/aime25",
    split="test",
)
