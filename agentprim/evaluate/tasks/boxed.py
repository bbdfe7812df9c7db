r"""Find what stands in the last \boxed of a text."""

import re

_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")


def last_boxed(text: str) -> str | None:
    r"""Return what stands in the last complete `\boxed{...}`, or None."""
    for match in reversed(list(_BOX.finditer(text))):
        depth = 1
        for place in range(match.end(), len(text)):
            if text[place - 1] == "\\":
                continue
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if depth == 0:
                return text[match.end() : place].strip()
    return None
