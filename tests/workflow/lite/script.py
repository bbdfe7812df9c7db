"""Scripted experts, deciders and reviewers: what they say is known, and what they hear is kept."""

import math

from agentprim import Decider, Output, Usage
from agentprim.decide.backend import Scores
from agentprim.workflow.lite.prompts import STOP


class Scripted:
    """An agent that says its lines in order, the last one again and again; errors are raised."""

    def __init__(self, name: str, *lines, tokens: int = 10):
        self.name, self.lines, self.tokens = name, list(lines), tokens
        self.heard: list[str] = []
        self.seeds: list[int] = []

    def __call__(self, turns, *, max_new_tokens, seed=None, context=None, carry=None):
        assert isinstance(turns, list) and max_new_tokens >= 1
        self.seeds += seed or []
        found = []
        for turn in turns:
            self.heard.append(turn)
            line = self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]
            if isinstance(line, Exception):
                raise line
            usage = Usage.of(self.name, prefilled=self.tokens, decoded=2, generative_calls=1)
            found.append(Output(line, usage=usage, name=self.name))
        return found


class Oracle:
    """A decider's backend that follows scripts: routes in order, verdicts by what work says."""

    def __init__(self, routes=(), passes=lambda state: True):
        self.routes, self.passes, self.asked = list(routes), passes, []

    def __call__(self, state, questions):
        self.asked.append((questions[0], str(state)))
        return [self._answer(str(state), question) for question in questions]

    def _answer(self, state, question):
        if question.kind == "judge":
            sure = 3.0 if self.passes(state) else -3.0
            return Scores(log_probs=(sure, 0.0), tokens=5)
        chosen = self.routes.pop(0) if self.routes else STOP
        if isinstance(chosen, Exception):
            raise chosen
        return Scores(
            log_probs=tuple(0.0 if o == chosen else -math.inf for o in question.options), tokens=7
        )


def decider(routes=(), passes=lambda state: True) -> Decider:
    return Decider(Oracle(routes, passes))


def events(out: Output, kind: str) -> list[dict]:
    return [event.detail for event in out.trace if event.kind == kind]
