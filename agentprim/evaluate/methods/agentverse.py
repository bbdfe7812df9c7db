"""AgentVerse: recruit experts, let them decide, evaluate, and recruit again."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line, words
from agentprim.evaluate.methods.talk import Talk
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


@dataclass(frozen=True, kw_only=True)
class AgentVerse(Talk):
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

    def cast(self) -> dict[str, str | None]:
        """Return the roles; see `Talk`."""
        return {"recruiter": RECRUITER, "solver": None, "critic": None, "evaluator": None}

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        advice: list[tuple[str, str]] = []
        for turn in range(1, self.turns + 1):
            solution = self._decide(line, self._recruit(line, advice), advice)
            if turn == self.turns:
                break
            known = [("Solution", words(solution))]
            verdict = line.say("evaluator", said(EVALUATE.format(task=line.question), known))
            accepted = opens(verdict, "correct")
            line.note("review", self.name, passed=accepted)
            if accepted:
                break
            advice = [("Last solution", words(solution)), ("Advice", words(verdict))]
        return solution

    def _recruit(self, line: Line, advice: list[tuple[str, str]]) -> list[str]:
        turn = RECRUIT.format(count=self.experts, task=line.question)
        names = listed(line.say("recruiter", said(turn, advice)))[: self.experts]
        experts = [one.rstrip(".") for one in names] + [SOMEBODY] * (self.experts - len(names))
        line.note("plan", self.name, experts=experts, named=len(names))
        return experts

    def _decide(self, line: Line, experts: list[str], advice: list[tuple[str, str]]) -> Output:
        """Let the critics and the solver go on until all critics agree."""
        solve = SOLVE.format(role=experts[0], task=line.question)
        turns = [CRITICISE.format(role=one, task=line.question) for one in experts[1:]]
        solution = line.say("solver", said(solve, advice))
        for number in range(self.rounds):
            known = [("Solution", words(solution))]
            heard = line.say_each([("critic", said(turn, known)) for turn in turns])
            wrong = [
                (f"Critic {place}", words(out))
                for place, out in enumerate(heard, 1) if not opens(out, "agree")
            ]  # fmt: skip
            line.note("stop", self.name, round=number + 1, stopped=not wrong)
            if not wrong:
                break
            solution = line.say("solver", said(solve, known + wrong))
        return solution
