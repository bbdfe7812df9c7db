"""Save a tiny model with its tokenizer to a folder, for whoever loads by name."""

from pathlib import Path

from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer


def saved(path: Path, family: str = "llama", **config) -> str:
    """Save the tiny model of a family, with changes to its configuration, and return the folder."""
    build(family, **config).save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return str(path)
