"""API-Bank: the next call of an interface in a dialogue."""

import re
from pathlib import Path

from agentprim.evaluate.base import Grade, Item
from agentprim.evaluate.tasks.calls import find_call
from agentprim.evaluate.tasks.rows import read_rows
from agentprim.evaluate.tasks.sample import sample_units


class ApiBank:
    """Call points of dialogues, graded strictly: name and arguments as in the reference.

    The publisher's scorer runs the called interface and compares results, so it forgives arguments
    that make no difference, such as other keywords for a search of tools; ours does not, and is a
    lower bound. Its scores of replies in words (ROUGE-L) are not computed.
    """

    name = "api_bank"
    about = (
        "API-Bank call points (json_test_data/level-*-api.json, test-data/level-3-batch-inf.json "
        "of AlibabaResearch/DAMO-ConvAI, local only): literal match of calls; "
        "its reader was never tried on its real data"
    )

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Load call points, grouped by level; `limit` counts dialogues, not call points.

        Args:
            path: A file, or a folder of such files.
            limit: Most dialogues, each with all its call points; None takes all.
            seed: Of the sample.

        Raises:
            ValueError: No path is given.
        """
        if path is None:
            raise ValueError("path must be given for api_bank, got None")
        rows = [row for row in read_rows(path) if "API-Request" in _gold(row)]
        items = [_item(row, row.get("_file", Path(path).name)) for row in rows]
        return sample_units(items, limit, seed, unit=lambda item: item.more["episode"])

    def grade(self, item: Item, text: str) -> Grade:
        """Compare the first call of an answer with the reference."""
        gold, found = find_call(item.answer), find_call(text)
        if found is None:
            return Grade(correct=False, extracted=None, reason="no answer")
        if found[0] != gold[0]:
            reason = "other name"
        else:
            reason = "" if found[1] == gold[1] else "other arguments"
        return Grade(correct=not reason, extracted=_told(*found), reason=reason)

    def extract(self, item: Item, text: str) -> str | None:
        """Read the first call, its arguments in the order of their names; see `Task`."""
        found = find_call(text)
        return None if found is None else _told(*found)


def _told(name: str, arguments: dict[str, str]) -> str:
    return f"{name}({dict(sorted(arguments.items()))})"


def _gold(row: dict) -> str:
    return str(row.get("expected_output") or row.get("output") or "")


def _item(row: dict, file: str) -> Item:
    episode = str(row["file"] if "file" in row else row["sample_id"])
    call = str(row["id"] if "file" in row else row["api_id"])
    # the level of the task is in the name of the file; dialogues have a numbering of their own
    level = re.search(r"level-(\d)", file) or re.search(r"level-(\d)", episode)
    source = file.partition(".")[0]
    return Item(
        id=f"api_bank/{source}/{episode}/{call}",
        question=f"{row['instruction'].strip()}\n\n{row['input'].strip()}",
        answer=_gold(row),
        group=f"level-{level[1]}" if level else "",
        more={"episode": f"{source}/{episode}"},
    )
