"""The structures that come with the package, read from its data files."""

import functools
import json
from importlib.resources import files

from agentprim.organizer.entry import Entry

SOURCES = ("debate", "dylan", "self_refine", "aflow", "mas_gpt")


@functools.cache
def builtin() -> tuple[Entry, ...]:
    """Read all entries, once."""
    found = []
    for source in SOURCES:
        text = (files("agentprim.organizer") / "data" / f"{source}.json").read_text("utf-8")
        data = json.loads(text)
        shared = {name: data[name] for name in ("source", "arxiv")}
        found += [Entry.model_validate({**shared, **entry}) for entry in data["entries"]]
    return tuple(found)
