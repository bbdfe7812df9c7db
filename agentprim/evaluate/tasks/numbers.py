"""Read the last number of a text, for gold answers and predictions alike."""

import re
from decimal import Decimal, InvalidOperation

# a minus counts where no term stands before it; digits inside a word are no number
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.)\]}])[-\u2212\u2013])?(?:\\?[$€£]\s?)?"
    r"(?P<inner>(?<=[$€£])[-\u2212\u2013])?"
    r"(?<![\w.])(?P<digits>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?P<power>[eE][-+]?\d+)?"
)


def last_number(text: str) -> str | None:
    """Return the last number of a text in one form: no sign of money, no grouping, no idle zeros.

    Returns:
        Such as `"-3"`, `"1234"` or `"0.5"`; None where there is none.
    """
    found = None
    for match in _NUMBER.finditer(text):
        found = match
    return None if found is None else _plain(found)


def _plain(match: re.Match) -> str:
    digits = match["digits"].replace(",", "") + (match["power"] or "")
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return digits
    if abs(value.adjusted()) > 1000:
        return digits
    plain = f"{value:f}"
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    minus = (match["sign"] or match["inner"]) and value != 0
    return f"-{plain}" if minus else plain
