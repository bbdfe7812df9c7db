"""Labelled decisions: one half to fit a calibration on, the other to report it on."""

import random
from collections.abc import Sequence

from agentprim.decide.calibration import Calibration, Labelled, arrays, sigmoid
from agentprim.decide.decider import Decider
from agentprim.decide.quality import Quality, quality
from agentprim.decide.question import judge


def label(decider: Decider, state, question: str, holds: bool) -> Labelled:
    """Judge one state of which the truth is known; the decider's own calibration plays no part."""
    yes, no = decider.ask([judge(question)], state)[0].log_probs.values()
    return Labelled(question=question, log_odds=yes - no, holds=holds)


def halves(found: Sequence[Labelled], seed: int) -> tuple[list[Labelled], list[Labelled]]:
    """Split at random into two halves, each question and label by itself."""
    source, parts = random.Random(seed), ([], [])
    groups: dict[tuple[str, bool], list[Labelled]] = {}
    for one in found:
        groups.setdefault((one.question, one.holds), []).append(one)
    for group in groups.values():
        source.shuffle(group)
        for number, one in enumerate(group):
            parts[number % 2].append(one)
    return parts


def held_out(calibration: Calibration, held: Sequence[Labelled], question: str) -> Quality:
    """Measure the calibrated judgements of one question on what was not fitted."""
    odds, holds = arrays([one for one in held if one.question == question])
    p = sigmoid(odds / calibration.temperature(question))
    return quality(p, holds, calibration.threshold(question))
