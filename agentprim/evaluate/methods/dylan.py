"""DyLAN: a layered network of agents that ends on a consensus and drops its weaker members."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.engine import Output
from agentprim.evaluate.methods.importance import importance, read_scores
from agentprim.evaluate.methods.line import Line, words
from agentprim.evaluate.methods.majority import elect, votes
from agentprim.evaluate.methods.talk import Talk
from agentprim.evaluate.methods.verdict import numbers
from agentprim.primitives.prompts import said

ROLE = "You are a {role}. Answer as one, step by step, and give the final answer."
AGAIN = (
    "First rate each of these {count} answers from 1 to 5, in their order, as one line such as "
    "{example}. Then give your own updated answer to the task.\n\nTask: {task}"
)
RANKER = "You compare answers to a task. You do not answer it."
RANK = (
    "Choose the {keep} best answers to the task and reply with their numbers only, the best first."
    "\n\nTask: {task}"
)


@dataclass
class _Layer:
    """One round: what each agent said, how it rated those before, and whether they agreed."""

    said: dict[str, Output] = field(default_factory=dict)
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    agreed: bool = False


@dataclass(frozen=True, kw_only=True)
class Dylan(Talk):
    """DyLAN's inference (arXiv 2310.02170): 4 agents, 3 rounds, a ranker that keeps 2 of them.

    In each round the active agents answer in a shuffled order; from the second on they read and
    rate, 1 to 5, all answers of the round before. As soon as more than two thirds of the active
    agents agree, the rest is not asked. Before the third round a ranker reads all answers,
    shuffled, and its best 2 go on: those very agents, whatever their place in the order. The
    answer is the majority of the last round; each agent's importance goes to the trace.

    Not as in the paper: the team optimisation, which runs a task with many agents and keeps those
    of most importance, is left out; roles are the same for every task; answers are compared as
    extracted text, for programs too, where the paper compares by BLEU; no tools.

    Attributes:
        roles: Of the agents, each another one. Of equally frequent answers the first spoken wins.
        rounds: Most rounds.
        keep: Agents that the ranker keeps.
    """

    name: str = "dylan"
    about: str = "4 agents in up to 3 layers, ranker, consensus (arXiv 2310.02170)"
    roles: tuple[str, ...] = ("mathematician", "programmer", "scientist", "doctor")
    rounds: int = 3
    keep: int = 2

    def __post_init__(self) -> None:
        """Check the roles."""
        if len({*self.roles, "ranker"}) <= len(self.roles):
            raise ValueError(f"roles must differ, and none be the ranker, got {self.roles}")

    def cast(self) -> dict[str, str]:
        """Return the roles; see `Talk`."""
        return {role: ROLE.format(role=role) for role in self.roles} | {"ranker": RANKER}

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        order, active = line.source("order"), list(self.roles)
        layers: list[_Layer] = []
        for number in range(self.rounds):
            if number >= 2 and len(active) > 3:
                active = self._rank(line, order, layers[-1].said)
            layers.append(self._round(line, order, active, layers))
            if layers[-1].agreed:
                break
        return self._elect(line, layers)

    def _round(
        self, line: Line, order: random.Random, active: list[str], before: list[_Layer]
    ) -> _Layer:
        """Let agents speak in a shuffled order until more than two thirds of them agree."""
        layer, enough = _Layer(), 2 * len(active) // 3 + 1
        waiting = order.sample(active, len(active))
        while waiting and not layer.agreed:
            # all at once that no consensus can come before
            ahead = max(enough - len(layer.said), 1)
            self._speak(line, order, waiting[:ahead], layer, before[-1].said if before else {})
            waiting = waiting[ahead:]
            top = votes([line.extract(str(out)) for out in layer.said.values()]).most_common(1)
            layer.agreed = bool(top) and top[0][1] >= enough
            detail = {"spoke": len(layer.said), "stopped": layer.agreed}
            line.note("stop", self.name, round=len(before) + 1, **detail)
        return layer

    @staticmethod
    def _speak(
        line: Line, order: random.Random, roles: list[str], layer: _Layer, before: dict[str, Output]
    ) -> None:
        """Let agents answer, and rate those before, which each reads in an order of its own."""
        orders = [order.sample(list(before), len(before)) for _ in roles]
        turns = [_again(line, [before[one] for one in read]) for read in orders]
        found = line.say_each(list(zip(roles, turns, strict=True)))
        for role, read, out in zip(roles, orders, found, strict=True):
            scores, rest = read_scores(str(out), len(read))
            layer.said[role] = out.but(text=rest.strip()) if any(scores) else out
            layer.scores[role] = dict(zip(read, scores, strict=True))

    def _rank(self, line: Line, order: random.Random, before: dict[str, Output]) -> list[str]:
        """Let the ranker choose who goes on; where it names too few, chance does."""
        shown = order.sample(list(before), len(before))
        turn = RANK.format(keep=self.keep, task=line.question)
        out = line.say("ranker", said(turn, _answers([before[one] for one in shown])))
        named = [shown[n - 1] for n in numbers(out) if 1 <= n <= len(shown)]
        best = list(dict.fromkeys(named))[: self.keep]
        line.note("rank", self.name, order=shown, named=best)
        return (best + [one for one in shown if one not in best])[: self.keep]  # shuffled already

    def _elect(self, line: Line, layers: list[_Layer]) -> Output:
        """Take the majority of the last round, and note who contributed how much."""
        last = layers[-1].said
        chosen = elect(line, self.name, list(last.values()))
        answer = line.extract(str(chosen))
        agreeing = [role for role, out in last.items() if line.extract(str(out)) == answer]
        values = importance([layer.scores for layer in layers], agreeing)
        line.note("importance", self.name, **{role: round(one, 6) for role, one in values.items()})
        return chosen


def _answers(outputs: Sequence[Output]) -> list[tuple[str, str]]:
    return [(f"Answer {place}", words(out)) for place, out in enumerate(outputs, 1)]


def _again(line: Line, outputs: Sequence[Output]) -> str:
    """Return what an agent is asked that reads these answers; without any, the question alone."""
    if not outputs:
        return line.question
    example = str([3, 5, 1, 4, 2][: len(outputs)])
    turn = AGAIN.format(count=len(outputs), example=example, task=line.question)
    return said(turn, _answers(outputs))
