"""Where this user's files lie: converted models and certificates."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return agentprim's folder in the user's cache: `$XDG_CACHE_HOME`, else `~/.cache`."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "agentprim"
