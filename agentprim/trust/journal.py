"""A journal of finished items: a run that was stopped goes on where it was."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from agentprim.engine.folder import write_whole


class Journal:
    """One JSON object a line: what is measured first, then one record for each finished item.

    Attributes:
        path: The file.
        records: What was finished, by key.
    """

    def __init__(self, path: Path, about: dict, *, renew: bool = True) -> None:
        """Open a journal, and read what is there.

        A last line that a killed run left half written is cut off.

        Args:
            path: The file; its folder is made.
            about: What decides whether old records count, JSON-serialisable.
            renew: Begin a file that is about something else (another model, version or plan) anew;
                False refuses it and leaves it alone.

        Raises:
            ValueError: The file is no journal, or is about something else and shall not be renewed.
        """
        about = json.loads(json.dumps(about))  # tuples and keys as they come back
        self.path, self.records = Path(path), {}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self._whole_lines()
        found = self._parse(whole[0]).get("about") if whole else None
        if whole and not renew and found != about:
            differing = "; ".join(list(differences(found or {}, about))[:3])
            raise ValueError(f"{self.path} must have the header of this run, got {differing}")
        if whole and found == about:
            for line in whole[1:]:
                record = self._parse(line)
                self.records[record["key"]] = record
        else:
            write_whole(self.path, json.dumps({"about": about}) + "\n")

    def add(self, *records: dict) -> None:
        """Write finished records at once, so that they survive whatever comes next."""
        with self.path.open("a") as file:
            file.write("".join(json.dumps(record) + "\n" for record in records))
            file.flush()
            os.fsync(file.fileno())
        self.records |= {record["key"]: record for record in records}

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
            raise ValueError(f"{self.path} must be a journal, got {line[:60]!r}")
        return found


def read(path: Path) -> tuple[dict, dict[str, dict]]:
    """Read a journal without touching it: what it is about, and its records by key.

    A half written last line is left out; of records with one key the last counts.

    Raises:
        ValueError: The file is no journal.
    """
    data = Path(path).read_bytes()
    lines = data[: data.rfind(b"\n") + 1].decode().splitlines()
    try:
        found = [json.loads(line) for line in lines]
        return found[0]["about"], {record["key"]: record for record in found[1:]}
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} must be a journal, got {error!r}") from error


def differences(there: dict, here: dict, prefix: str = "") -> Iterator[str]:
    """Name the fields in which two headers differ, with both values."""
    for name in [*there, *(name for name in here if name not in there)]:
        old, new = there.get(name), here.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new, f"{prefix}{name}.")
        elif old != new:
            yield f"{prefix}{name} {_short(old)} where this run has {_short(new)}"


def _short(value) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
