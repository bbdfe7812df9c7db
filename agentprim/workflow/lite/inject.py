"""Inject errors into work, to see whether screening finds them: an experiment."""

import random
import re
from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.engine.chat import Chat

KINDS = ("value", "operator", "code")
_OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*", "×": "+", "÷": "×"}
_CODE = [
    (r"==", "!="), (r"!=", "=="), (r"<=", "<"), (r">=", ">"), (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"), (r"\band\b", "or"), (r"\bor\b", "and"), (r"\bnot ", ""),
    (r"\+ 1\b", "- 1"), (r"- 1\b", "+ 1"), (r"\bmin\(", "max("), (r"\bmax\(", "min("),
]  # fmt: skip


def mutate(text: str, kind: str, seed: int) -> str | None:
    """Change one place of a text.

    Args:
        text: Some work.
        kind: `"value"` changes a number, `"operator"` an arithmetic sign between two terms,
            `"code"` a comparison, constant or connective of a program.
        seed: Which place, and to what.

    Returns:
        The changed text, or None where there is no such place.

    Raises:
        ValueError: The kind is unknown.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
    source = random.Random(seed)
    if kind == "value":
        places = [(m, _other(m.group(), source)) for m in re.finditer(r"\d+(?:\.\d+)?", text)]
    elif kind == "operator":
        signs = re.finditer(r"(?<=[\w)] )[-+*/×÷](?= [\w(])", text)
        places = [(m, _OPERATORS[m.group()]) for m in signs]
    else:
        places = [(m, new) for old, new in _CODE for m in re.finditer(old, text)]
    if not places:
        return None
    match, new = source.choice(places)
    return text[: match.start()] + new + text[match.end() :]


def _other(number: str, source: random.Random) -> str:
    """Return another number of the same form."""
    _, point, decimals = number.partition(".")
    steps = [step for step in range(-9, 10) if step and float(number) + step >= 0]
    step = source.choice(steps)
    return f"{float(number) + step:.{len(decimals)}f}" if point else str(int(number) + step)


@dataclass(frozen=True, kw_only=True)
class Injection:
    """Changes a share of all work, in its text and in its cache alike.

    Attributes:
        kind: See `mutate`. None takes what fits: code where there is a program, else a number or a
            sign, as drawn.
        rate: Share of the work, in 0..1, that is changed where it can be.
        seed: Decides which, and where.
        only: Number of the only work that may be changed; None is all of it. A repair that is
            changed again can mend nothing.
    """

    kind: str | None = None
    rate: float = 1.0
    seed: int = 0
    only: int | None = None

    def __post_init__(self) -> None:
        """Check both.

        Raises:
            ValueError: The kind is unknown, or the rate out of range.
        """
        if self.kind is not None:
            mutate("", self.kind, 0)
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate must be between 0 and 1, got {self.rate}")

    def __call__(self, seed: int | None, number: int, output: Output, agent) -> Output | None:
        """Change an output, or return None."""
        drawn = random.Random(f"{self.seed}/{seed}/{number}")
        if drawn.random() >= self.rate or self.only not in (None, number):
            return None
        kinds = _fitting(str(output), drawn) if self.kind is None else [self.kind]
        place = drawn.randrange(2**32)
        texts = (mutate(str(output), kind, place) for kind in kinds)
        text = next((one for one in texts if one is not None), None)
        return None if text is None else rewritten(output, text, agent)


def _fitting(text: str, source: random.Random) -> list[str]:
    """Return the kinds that fit a text, first come first tried."""
    if "```" in text or re.search(r"^\s*(?:def|class|return)\b", text, re.MULTILINE):
        return list(reversed(KINDS))
    return source.sample(("value", "operator"), 2)


def rewritten(output: Output, text: str, agent) -> Output:
    """Let an output say something else: its cache is cut before the reply and read again."""
    if output.kv is None:
        return output.but(text=text, ids=())
    engine = agent.engine
    ids = engine.encode(text)
    end = Chat(engine.tokenizer).close()
    kv = engine.prefill([*ids, *end], output.kv[: output.reply_start])
    return output.but(text=text, kv=kv, ids=tuple(ids), hidden=None)
