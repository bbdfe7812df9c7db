"""Bounded decisions: distributions over given options, read out of what is already cached."""

from agentprim.decide.calibration import Calibration, Labelled, fit
from agentprim.decide.decider import Decider
from agentprim.decide.decision import Decision
from agentprim.decide.question import Question, choose, judge, score

__all__ = [
    "Calibration",
    "Decider",
    "Decision",
    "Labelled",
    "Question",
    "choose",
    "fit",
    "judge",
    "score",
]
