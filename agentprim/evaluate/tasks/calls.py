"""Read a call `[Name(key='value', ...)]` out of a text."""

import ast
import re

_START = re.compile(r"\[\s*(\w+)\s*\(")
_ARGUMENT = re.compile(r"(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([^,]+))")


def find_call(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the name and the arguments of the first call in a text, or None.

    Values are compared as text: `3` is `'3'`, and spaces around a value do not count.
    """
    for match in _START.finditer(text):
        end = _end(text, match.end())
        if end is not None:
            return match[1], _arguments(text[match.end() : end])
    return None


def _end(text: str, start: int) -> int | None:
    """Find the bracket that closes a call, outside of quotes."""
    depth, quote = 1, ""
    for place in range(start, len(text)):
        letter = text[place]
        if quote:
            # a quote inside a word is an apostrophe
            closes = letter == quote and re.match(r"\s*[,)\]}:]", text[place + 1 :])
            quote = "" if closes and text[place - 1] != "\\" else quote
        elif letter in "'\"" and text[place - 1] in "=([{,: ":
            quote = letter
        else:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if depth == 0:
                return place
    return None


def _arguments(text: str) -> dict[str, str]:
    try:
        call = ast.parse(f"call({text})", mode="eval").body
        return {part.arg: _plain(ast.literal_eval(part.value)) for part in call.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {
            match[1]: _plain(next(part for part in match.groups()[1:] if part is not None))
            for match in _ARGUMENT.finditer(text)
        }


def _plain(value: object) -> str:
    return str(value).strip()
