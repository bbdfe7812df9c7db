"""Find a plan in what a model wrote: behind reasoning, in fences, between words; never half of one.

Models wrap plans in reasoning tags, fences and prose, and a plan's own strings may hold all of
these. So the text is read once from left to right. Outside of JSON a reasoning tag opens a part to
leave out, and a closing tag alone ends one that the prompt opened; inside of a JSON string they
are letters like others. What is left are whole JSON objects, and the last one with steps is the
plan. A brace that never closes ends the search: nothing inside a cut-off plan is taken for one.
"""

import json
import re

from agentprim.agent.aloud import TAG
from agentprim.errors import PlanError

_START = re.compile(r'\{(?=\s*(?:["}]|\Z))')  # what else follows a brace is no JSON


def find_plan(text: str, *, cut: bool = False) -> dict:
    """Return the plan in a text, as plain data that is not checked yet.

    Args:
        text: What a model wrote.
        cut: Whether it was ended by a limit of tokens. Then nothing in it is trusted: the plan may
            have been still to come.

    Raises:
        PlanError: There is none, or none that is whole.
    """
    if not isinstance(text, str):
        raise PlanError(f"organizer must answer with text, got {type(text).__name__}")
    if cut:
        raise PlanError("organizer must answer with a whole plan, got one cut off by its limit")
    found, faults, place = [], [], 0
    while True:
        tag, start = TAG.search(text, place), _START.search(text, place)
        if tag and (start is None or tag.start() < start.start()):
            place = _skip_reasoning(text, tag, found)
        elif start:
            place = _read_object(text, start.start(), found, faults)
        else:
            break
    if not found:
        seen = f" ({faults[-1]})" if faults else ""
        raise PlanError(f"organizer must answer with a plan, got no JSON with steps{seen}")
    return found[-1]


def _skip_reasoning(text: str, tag: re.Match, found: list[dict]) -> int:
    """Return where the text goes on; what a closing tag ends was no answer."""
    if tag[1]:
        found.clear()
        return tag.end()
    for other in TAG.finditer(text, tag.end()):
        if other[1] and other[2].lower() == tag[2].lower():
            return other.end()
    raise PlanError(f"organizer must answer with a plan, got reasoning without an end ({tag[0]})")


def _read_object(text: str, start: int, found: list[dict], faults: list[str]) -> int:
    """Read the object at `start` and return where the text goes on."""
    end, closing = _extent(text, start)
    if end is None:
        if closing is not None:  # it was begun in reasoning that ended
            return closing
        raise PlanError("organizer must answer with a whole plan, got one that is cut off")
    try:
        data = json.loads(_without_last_commas(text[start:end]), strict=False,
                          object_pairs_hook=_once)  # fmt: skip
    except (ValueError, RecursionError) as error:
        faults.append(f"{error}")
        return end
    if isinstance(data.get("plan"), dict) and "steps" not in data:
        data = data["plan"]
    if "steps" in data:
        found.append(data)
    return end


def _extent(text: str, start: int) -> tuple[int | None, int | None]:
    """Return where the object at `start` ends, or else the first closing tag outside of strings."""
    depth, inside, place = 0, False, start
    while place < len(text):
        character = text[place]
        if inside:
            if character == "\\":
                place += 1
            inside = character != '"'
        elif character == '"':
            inside = True
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
            if depth == 0:
                return place + 1, None
        elif character == "<" and (tag := TAG.match(text, place)) and tag[1]:
            return None, tag.start()
        place += 1
    return None, None


def _without_last_commas(text: str) -> str:
    """Drop commas before a closing bracket, outside of strings."""
    return re.sub(
        r'"(?:[^"\\]|\\.)*"|,(?=\s*[\]}])', lambda m: "" if m[0] == "," else m[0], text, flags=re.S
    )


def _once(pairs: list[tuple]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"each name must stand once, got {twice!r} twice")
    return found
