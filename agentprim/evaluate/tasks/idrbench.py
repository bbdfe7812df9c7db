"""IDRBench I3: whether two papers of different disciplines make one idea."""

import re
from pathlib import Path

from agentprim.evaluate.base import Grade, Item
from agentprim.evaluate.tasks.rows import read_rows
from agentprim.evaluate.tasks.sample import sample

_ASK = (
    "Here are two papers from different disciplines. Decide whether their concepts can be joined "
    "into one interdisciplinary research idea that is feasible, novel and useful.\n\n{papers}\n\n"
    'Begin your answer with "Verdict: Yes" or "Verdict: No".'
)
_VERDICT = re.compile(r"\bverdict\b\W*(yes|no)\b", re.IGNORECASE)
_BARE = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


class IDRBenchI3:
    """Pairs of papers with a label; no verdict is a wrong one. The prompt is our own."""

    name = "idrbench_i3"
    about = (
        "IDRBench idea integration (data_exp_2_1.json or data_exp_2_2.json of IDRBench/IDRBench, "
        "local only): yes or no; its reader was never tried on its real data"
    )

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Load pairs, grouped by label; see `Task.load`.

        Raises:
            ValueError: No path is given.
        """
        if path is None:
            raise ValueError("path must be given for idrbench_i3, got None")
        items = [_item(number, row) for number, row in enumerate(read_rows(path))]
        return sample(items, limit, seed)

    def grade(self, item: Item, text: str) -> Grade:
        """Read the verdict: after that word, or at the beginning of the answer."""
        verdict = self.extract(item, text)
        if verdict is None:
            return Grade(correct=False, extracted=None, reason="no answer")
        correct = verdict == item.answer
        return Grade(correct=correct, extracted=verdict, reason="" if correct else "wrong")

    def extract(self, item: Item, text: str) -> str | None:
        """Read the verdict; see `Task`."""
        found = _VERDICT.search(text) or _BARE.match(text)
        return None if found is None else found[1].lower()


def _item(number: int, row: dict) -> Item:
    papers = [
        f"Paper {place}\nTitle: {_first(row[f'{key}_title'])}\n"
        f"Abstract: {_first(row[f'{key}_abstract'])}"
        for place, key in enumerate("bc", 1)
    ]
    answer = "yes" if str(row["y_true"]).strip().lower() in ("true", "1", "yes") else "no"
    return Item(
        id=f"idrbench_i3/{number}",
        question=_ASK.format(papers="\n\n".join(papers)),
        answer=answer,
        group=answer,
    )


def _first(value: object) -> str:
    """Return a text that some rows keep in a list."""
    return str(value[0] if isinstance(value, list) and value else value).strip()
