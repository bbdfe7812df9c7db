"""Votes over texts: which answer most of them give."""

from collections import Counter
from collections.abc import Sequence

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line


def votes(answers: Sequence[str | None]) -> Counter:
    """Count answers; texts without one do not vote."""
    return Counter(answer for answer in answers if answer is not None)


def majority(answers: Sequence[str | None]) -> int:
    """Return the place of the first text that gives the most frequent answer.

    Of equally frequent answers the first counts; with none at all, the first text does.
    """
    counted = votes(answers)
    return list(answers).index(counted.most_common(1)[0][0]) if counted else 0


def elect(line: Line, role: str, outputs: Sequence[Output]) -> Output:
    """Return the first text that answers as most do, and note the vote. Modifies the line."""
    answers = [line.extract(str(out)) for out in outputs]
    chosen = majority(answers)
    line.note("vote", role, rule="majority", answers=answers, kept=[chosen])
    return outputs[chosen]
