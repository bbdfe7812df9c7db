"""Files: where this user's lie (converted models, certificates), and how one is written whole."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return agentprim's folder in the user's cache: `$XDG_CACHE_HOME`, else `~/.cache`."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "agentprim"


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there with all of a text, or as it was before."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text)
    draft.replace(path)
