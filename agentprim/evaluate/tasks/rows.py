"""Read a publisher's rows: from a file or a folder, or from the hub."""

import csv
import gzip
import io
import json
from pathlib import Path


def read_rows(path: Path) -> list[dict]:
    """Read rows of `.jsonl`, `.json` or `.csv`, each also with `.gz`, in their order.

    Args:
        path: A file, or a folder, all of whose such files are read in the order of their names.

    Raises:
        ValueError: There is no such file, it has another ending, or holds something else.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if _ending(file) in _READERS)
        if not files:
            raise ValueError(f"path must have .jsonl, .json or .csv files, got {path}")
        return [row | {"_file": file.name} for file in files for row in read_rows(file)]
    if not path.is_file():
        raise ValueError(f"path must be a file or a folder, got {path}")
    if _ending(path) not in _READERS:
        raise ValueError(f"path must end in .jsonl, .json or .csv, or those with .gz, got {path}")
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    rows = _READERS[_ending(path)](text)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{path} must have a list of objects")
    return rows


def hub_rows(name: str, *, subset: str | None = None, split: str = "test") -> list[dict]:
    """Load rows from the Hugging Face hub.

    Args:
        name: Of the data set.
        subset: Its configuration.
        split: Of the data set.

    Raises:
        ImportError: The extra `evaluate` is not installed.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise ImportError(
            f"loading {name} from the hub needs `pip install agentprim[evaluate]`; "
            "or give the path of the publisher's file"
        ) from error
    return [dict(row) for row in load_dataset(name, subset, split=split)]


def _ending(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


def _jsonl(text: str) -> list[dict]:
    # not splitlines, which also splits at characters that JSON allows inside a string
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def _csv(text: str) -> list[dict]:
    return list(csv.DictReader(io.StringIO(text)))


_READERS = {".jsonl": _jsonl, ".json": json.loads, ".csv": _csv}
