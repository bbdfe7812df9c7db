"""Votes over texts: what each of them answers, and which answer most of them give."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from agentprim.engine import Output
from agentprim.evaluate.methods.talk import Line

Extract = Callable[[str], str | None]
CUE = re.compile(r"(?i:\banswer\b)[\s*]*(?:is|:|=)[\s*:]*(\S.*)")
LETTER = re.compile(r"[\W_]*([A-H])(?![\w'])")
PROGRAM = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:/\d+)?")


def last_answer(text: str) -> str | None:
    r"""Read an answer out of a text: the last `\boxed{}`, what "answer is" names, or what is last.

    Of these the first that is there: the last `\boxed{}`; the letter or number of the last line
    that says "answer is" or "answer:"; the last fenced program; the last number; the last line.
    Numbers lose separators of thousands and zeros behind the point, lines case, punctuation at
    their ends and double spaces.

    Returns:
        A text to compare by, or None where there is nothing.
    """
    boxed = _boxed(text)
    if boxed is not None:
        return _number(boxed) if NUMBER.fullmatch(boxed) else boxed
    cued = CUE.findall(text)
    if cued and (letter := LETTER.match(cued[-1])):
        return letter.group(1)
    numbers = NUMBER.findall(cued[-1]) if cued else []
    if not numbers and (programs := PROGRAM.findall(text)):
        return programs[-1].strip() or None
    numbers = numbers or NUMBER.findall(text)
    if numbers:
        return _number(numbers[-1])
    lines = [line for line in text.splitlines() if line.strip()]
    return " ".join(lines[-1].lower().split()).strip(" .,:;!?*\"'") or None if lines else None


def votes(answers: Sequence[str | None]) -> Counter:
    """Count answers; texts without one do not vote."""
    return Counter(answer for answer in answers if answer is not None)


def majority(answers: Sequence[str | None]) -> int:
    """Return the place of the first text that gives the most frequent answer.

    Of equally frequent answers the first counts; with none at all, the first text does.
    """
    counted = votes(answers)
    return list(answers).index(counted.most_common(1)[0][0]) if counted else 0


def elect(
    line: Line, role: str, outputs: Sequence[Output], answers: Sequence[str | None]
) -> Output:
    """Return the first text that answers as most do, and note the vote. Modifies the line."""
    chosen = majority(answers)
    line.note("vote", role, rule="majority", answers=list(answers), kept=[chosen])
    return outputs[chosen]


def elect_each(
    lines: Sequence[Line], role: str, outputs: Sequence[Output], extract: Extract
) -> list[Output]:
    """Hold a vote for each question over its equal share of texts. Modifies the lines."""
    each = len(outputs) // max(1, len(lines))
    groups = [outputs[i * each : (i + 1) * each] for i in range(len(lines))]
    return [
        elect(line, role, group, [extract(str(out)) for out in group])
        for line, group in zip(lines, groups, strict=True)
    ]


def _boxed(text: str) -> str | None:
    r"""Return what stands in the last `\boxed{}` whose braces close."""
    for start in reversed([match.end() for match in re.finditer(r"\\boxed\s*\{", text)]):
        depth = 1
        for place in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if not depth:
                return " ".join(text[start:place].split()) or None
    return None


def _number(text: str) -> str:
    text = text.replace(",", "")
    return text.rstrip("0").rstrip(".") if re.fullmatch(r"-?\d+\.\d+", text) else text
