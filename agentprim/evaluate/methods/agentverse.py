"""AgentVerse: recruit experts, let them decide, evaluate, and recruit again."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods.talk import Line, Talk, words
from agentprim.evaluate.methods.verdict import listed, opens
from agentprim.primitives.prompts import said

RECRUITER = "You recruit experts for a task. You do not solve it."
RECRUIT = (
    "Name {count} experts that the task needs, as a numbered list of {count} short descriptions. "
    "The first will solve it, the others will criticise.\n\nTask: {task}"
)
SOLVE = "You are {role}. Solve the task step by step and give the final answer.\n\nTask: {task}"
CRITICISE = (
    "You are {role}. Check the solution of the task. If it is right, reply with the one word "
    "AGREE. Otherwise say what is wrong with it.\n\nTask: {task}"
)
EVALUATE = (
    "Evaluate the solution of the task. If it is right and complete, reply with the one word "
    "CORRECT. Otherwise give advice on which experts are needed and what they must do."
    "\n\nTask: {task}"
)
SOMEBODY = "an expert in the field of the task"


@dataclass
class _Case:
    line: Line
    roles: list[str] = field(default_factory=list)
    solution: Output | None = None
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class AgentVerse:
    """AgentVerse (arXiv 2308.10848), vertical, with the solver first: 2 experts, 3 turns.

    In each turn a recruiter names the experts, the first of them solves, the others agree or
    criticise, and the solver revises, for up to 3 rounds or until all agree; an evaluator then
    accepts the solution or gives advice to the next turn. Not as in the paper: the stage of action
    (tools, code that is run) is left out, and so is its horizontal discussion; an expert's role
    stands in its turn, not in a system prompt; the evaluator says right or wrong instead of
    scores; after the last turn, when nothing can follow, nobody evaluates.

    Attributes:
        experts: How many, the solver included.
        turns: Most teams.
        rounds: Most criticisms of one team.
    """

    name: str = "agentverse"
    about: str = "recruit experts, decide, evaluate, recruit again (arXiv 2308.10848)"
    experts: int = 2
    turns: int = 3
    rounds: int = 3

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer; see `Method`."""
        talk = Talk(engine, questions, limits, seeds)
        agents = {name: talk.agent(name) for name in ("solver", "critic", "evaluator")}
        agents["recruiter"] = talk.agent("recruiter", RECRUITER)
        cases = [_Case(line) for line in talk.lines]
        live = cases
        for turn in range(self.turns):
            self._recruit(talk, agents["recruiter"], live)
            self._solve(talk, agents["solver"], live, [_advice(case) for case in live])
            self._decide(talk, agents, live)
            if turn + 1 < self.turns:
                live = self._evaluate(talk, agents["evaluator"], live)
        return talk.end([case.solution for case in cases], self.name)

    def _recruit(self, talk: Talk, agent, cases: list[_Case]) -> None:
        turns = [
            said(RECRUIT.format(count=self.experts, task=case.line.question), _advice(case))
            for case in cases
        ]
        found = talk.say(agent, [case.line for case in cases], turns)
        for case, out in zip(cases, found, strict=True):
            names = [one.rstrip(".") for one in listed(out)][: self.experts]
            case.roles = names + [SOMEBODY] * (self.experts - len(names))
            case.line.note("plan", self.name, experts=case.roles, named=len(names))

    @staticmethod
    def _solve(talk: Talk, agent, cases: list[_Case], heard: list) -> None:
        turns = [
            said(SOLVE.format(role=case.roles[0], task=case.line.question), before)
            for case, before in zip(cases, heard, strict=True)
        ]
        found = talk.say(agent, [case.line for case in cases], turns)
        for case, out in zip(cases, found, strict=True):
            case.solution = out

    def _decide(self, talk: Talk, agents: dict, cases: list[_Case]) -> None:
        """Let critics and the solver of each case go on until all critics agree."""
        for number in range(self.rounds):
            heard = [[("Solution", words(case.solution))] for case in cases]
            agreed = [True] * len(cases)
            for place in range(1, self.experts):
                turns = [
                    said(CRITICISE.format(role=case.roles[place], task=case.line.question),
                         [("Solution", words(case.solution))])
                    for case in cases
                ]  # fmt: skip
                found = talk.say(agents["critic"], [case.line for case in cases], turns)
                for i, out in enumerate(found):
                    if not opens(out, "agree"):
                        agreed[i] = False
                        heard[i].append((f"Critic {place}", words(out)))
            for case, done in zip(cases, agreed, strict=True):
                case.line.note("stop", self.name, round=number + 1, stopped=done)
            going = [i for i, done in enumerate(agreed) if not done]
            cases = [cases[i] for i in going]
            self._solve(talk, agents["solver"], cases, [heard[i] for i in going])

    def _evaluate(self, talk: Talk, agent, cases: list[_Case]) -> list[_Case]:
        """Return the cases whose solution is not accepted, with advice."""
        turns = [
            said(EVALUATE.format(task=case.line.question), [("Solution", words(case.solution))])
            for case in cases
        ]
        found = talk.say(agent, [case.line for case in cases], turns)
        going = []
        for case, out in zip(cases, found, strict=True):
            accepted = opens(out, "correct")
            case.line.note("review", self.name, passed=accepted)
            if not accepted:
                case.advice = words(out)
                going.append(case)
        return going


def _advice(case: _Case) -> list[tuple[str, str]]:
    if case.solution is None:
        return []
    return [("Last solution", words(case.solution)), ("Advice", case.advice)]
