"""A journal of finished items: a run that was stopped goes on where it was."""

import json
import os
from pathlib import Path


class Journal:
    """One JSON object a line: what is measured first, then one record for each finished item.

    Attributes:
        path: The file.
        records: What was finished, by key.
    """

    def __init__(self, path: Path, about: dict) -> None:
        """Open a journal, and read what is there.

        A last line that a killed run left half written is cut off. A file that is about something
        else (another model, version or plan) is begun anew.

        Args:
            path: The file; its folder is made.
            about: What decides whether old records count, JSON-serialisable.

        Raises:
            ValueError: The file is no journal.
        """
        self.path, self.records = Path(path), {}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self._whole_lines()
        if whole and self._parse(whole[0]).get("about") == about:
            for line in whole[1:]:
                record = self._parse(line)
                self.records[record["key"]] = record
        else:
            self.path.write_text(json.dumps({"about": about}) + "\n")

    def add(self, record: dict) -> None:
        """Write a finished record, so that it survives whatever comes next."""
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.records[record["key"]] = record

    def _whole_lines(self) -> list[str]:
        """Read whole lines, and cut a torn last one off the file."""
        if not self.path.exists():
            return []
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            with self.path.open("r+b") as file:
                file.truncate(end)
        return data[:end].decode().splitlines()

    def _parse(self, line: str) -> dict:
        try:
            found = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{self.path} must have one JSON object a line: {error}") from error
        if not isinstance(found, dict) or not {"about", "key"} & set(found):
            raise ValueError(f"{self.path} must be a journal of verify, got {line[:60]!r}")
        return found
