"""DyLAN: a layered network of agents that ends on a consensus and drops its weaker members."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Extract, Limits
from agentprim.evaluate.methods.importance import importance, read_scores
from agentprim.evaluate.methods.majority import elect, votes
from agentprim.evaluate.methods.talk import Line, Talk, words
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
class _Case:
    """One question: who is still active, and what each said in each round."""

    line: Line
    source: random.Random
    active: list[int]
    said: list[dict[int, Output]] = field(default_factory=list)
    answers: list[dict[int, str | None]] = field(default_factory=list)
    scores: list[dict[int, dict[int, float]]] = field(default_factory=list)
    order: list[int] = field(default_factory=list)

    def next(self) -> list[int]:
        """Return who speaks next this round: all at once that no consensus can come before."""
        spoke = len(self.said[-1])
        return self.order[spoke : max(2 * len(self.active) // 3 + 1, spoke + 1)]

    def consensus(self) -> bool:
        """Tell whether more than two thirds of the active agents gave one answer this round."""
        top = votes(list(self.answers[-1].values())).most_common(1)
        return bool(top) and top[0][1] > 2 * len(self.active) // 3


@dataclass(frozen=True, kw_only=True)
class Dylan:
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
        roles: Of the agents.
        rounds: Most rounds.
        keep: Agents that the ranker keeps.
    """

    name: str = "dylan"
    about: str = "4 agents in up to 3 layers, ranker, consensus (arXiv 2310.02170)"
    roles: tuple[str, ...] = ("mathematician", "programmer", "scientist", "doctor")
    rounds: int = 3
    keep: int = 2
    takes_extracts = True

    def __call__(
        self,
        engine: Engine,
        questions: Sequence[str],
        limits: Limits,
        seeds: Sequence[int],
        extracts: Sequence[Extract] | None = None,
    ) -> list[Output]:
        """Answer; see `Method`."""
        talk = Talk(engine, questions, limits, seeds, extracts)
        agents = [talk.agent(role, ROLE.format(role=role)) for role in self.roles]
        ranker = talk.agent("ranker", RANKER)
        everybody = range(len(agents))
        cases = [_Case(line, line.source("order"), list(everybody)) for line in talk.lines]
        live = cases
        for number in range(self.rounds):
            if number >= 2:
                self._rank(talk, ranker, [case for case in live if len(case.active) > 3])
            live = self._round(talk, agents, live)
        return talk.end([self._answer(case) for case in cases], self.name)

    def _round(self, talk: Talk, agents: list, cases: list[_Case]) -> list[_Case]:
        """Let agents speak until each case has a consensus; return the cases that have none."""
        for case in cases:
            case.order = case.source.sample(case.active, len(case.active))
            for layers in (case.said, case.answers, case.scores):
                layers.append({})
        going = []
        while cases:
            slots = [(case, one) for case in cases for one in case.next()]
            self._speak(talk, agents, slots)
            cases = [case for case in cases if not self._settled(case)]
            going += [case for case in cases if not case.next()]
            cases = [case for case in cases if case.next()]
        return going

    def _settled(self, case: _Case) -> bool:
        done = case.consensus()
        detail = {"round": len(case.said), "spoke": len(case.said[-1]), "stopped": done}
        case.line.note("stop", self.name, **detail)
        return done

    def _speak(self, talk: Talk, agents: list, slots: list[tuple[_Case, int]]) -> None:
        """Let each agent answer all cases whose turn it is for, as one batch."""
        for number, agent in enumerate(agents):
            cases = [case for case, one in slots if one == number]
            turns, orders = [], []
            for case in cases:
                before = case.said[-2] if len(case.said) > 1 else {}
                orders.append(case.source.sample(list(before), len(before)))
                turns.append(self._turn(case, orders[-1]))
            found = talk.say(agent, [case.line for case in cases], turns)
            for case, order, out in zip(cases, orders, found, strict=True):
                scores, rest = read_scores(str(out), len(order))
                case.said[-1][number] = out.but(text=rest.strip()) if any(scores) else out
                case.answers[-1][number] = case.line.extract(rest)
                case.scores[-1][number] = dict(zip(order, scores, strict=True))

    @staticmethod
    def _turn(case: _Case, order: list[int]) -> str:
        if not order:
            return case.line.question
        speeches = [
            (f"Answer {place}", words(case.said[-2][one])) for place, one in enumerate(order, 1)
        ]
        example = str([3, 5, 1, 4, 2][: len(order)])
        turn = AGAIN.format(count=len(order), example=example, task=case.line.question)
        return said(turn, speeches)

    def _rank(self, talk: Talk, ranker, cases: list[_Case]) -> None:
        """Let the ranker choose who goes on; where it names too few, chance does."""
        orders = [case.source.sample(case.active, len(case.active)) for case in cases]
        turns = [
            said(
                RANK.format(keep=self.keep, task=case.line.question),
                [(f"Answer {i}", words(case.said[-1][one])) for i, one in enumerate(order, 1)],
            )
            for case, order in zip(cases, orders, strict=True)
        ]
        found = talk.say(ranker, [case.line for case in cases], turns)
        for case, order, out in zip(cases, orders, found, strict=True):
            named = [order[n - 1] for n in numbers(out) if 1 <= n <= len(order)]
            best = list(dict.fromkeys(named))[: self.keep]
            rest = [one for one in order if one not in best]  # shuffled already
            case.line.note("rank", self.name, order=order, named=best)
            case.active = sorted([*best, *rest][: self.keep])

    def _answer(self, case: _Case) -> Output:
        outputs, answers = case.said[-1], case.answers[-1]
        said_last = list(outputs.values())
        chosen = elect(case.line, self.name, said_last, [answers[one] for one in outputs])
        final = next(answers[one] for one, out in outputs.items() if out is chosen)
        agreeing = [one for one in outputs if answers[one] == final]
        values = importance(case.scores, agreeing)
        named = {self.roles[one]: round(value, 6) for one, value in sorted(values.items())}
        case.line.note("importance", self.name, **named)
        return chosen
