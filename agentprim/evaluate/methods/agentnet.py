"""An AgentNet-style control: no centre; each agent executes, passes on, or splits."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods.talk import Line, Talk, words
from agentprim.primitives.prompts import said
from agentprim.workflow.lite.route import named

DUTIES = {
    "analyst": "breaks a task down and finds out what is asked",
    "reasoner": "calculates, proves and writes programs step by step",
    "expert": "knows facts of science, medicine and law",
}
SYSTEM = "You are the {name} of a network of agents: {duty}."
ROUTE = (
    "Decide what you do with the task. Reply with EXECUTE to solve it, with FORWARD and a name to "
    "pass it on, or with SPLIT and a name to do your part and pass on the rest.\n\n"
    "Others:\n{others}\n\nTask: {task}"
)
PART = "Do your part of the task; others go on from there.\n\nTask: {task}"
EXECUTE = "Solve the task with what was done before and give the final answer.\n\nTask: {task}"
ACTIONS = ("EXECUTE", "FORWARD", "SPLIT")


@dataclass
class _Case:
    line: Line
    at: str
    visited: list[str] = field(default_factory=list)
    done: list[tuple[str, str]] = field(default_factory=list)
    answer: Output | None = None


@dataclass(frozen=True, kw_only=True)
class AgentNetControl:
    """A control in the style of AgentNet (arXiv 2504.00587), as compared with by Jev-LiteMAS.

    A task enters at one agent, drawn by its seed. Each agent first routes in words: it executes,
    forwards the task, or splits it, does its part and passes on the rest; nobody is visited twice,
    so the way is acyclic, and the last one executes. *Jev-LiteMAS* (arXiv 2610.21411) does not
    publish its control. Not as in AgentNet: agents learn nothing, since a method must answer each
    question alike whatever came before: no memories of past tasks with retrieval, no weights of
    edges that grow and are pruned with success, no capability vectors that choose the entry.
    """

    name: str = "agentnet_control"
    about: str = "agents route among themselves, without a centre (after arXiv 2504.00587)"

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer; see `Method`."""
        talk = Talk(engine, questions, limits, seeds)
        agents = {
            name: talk.agent(name, SYSTEM.format(name=name, duty=duty))
            for name, duty in DUTIES.items()
        }
        cases = [_Case(line, line.source("entry").choice(list(DUTIES))) for line in talk.lines]
        for _ in DUTIES:
            waiting = [case for case in cases if case.answer is None]
            groups = {name: [case for case in waiting if case.at == name] for name in agents}
            for name, group in groups.items():
                self._hop(talk, agents[name], name, group)
        return talk.end([case.answer for case in cases], self.name)

    def _hop(self, talk: Talk, agent, name: str, cases: list[_Case]) -> None:
        """Let one agent route and work for all tasks that are with it. Modifies the cases."""
        for case in cases:
            case.visited.append(name)
        left = {id(case): [one for one in DUTIES if one not in case.visited] for case in cases}
        asked = [case for case in cases if left[id(case)]]
        turns = [self._route(case, left[id(case)]) for case in asked]
        replies = talk.say(agent, [case.line for case in asked], turns)
        chosen = {id(case): ("EXECUTE", None, "") for case in cases}
        for case, out in zip(asked, replies, strict=True):
            target = named(str(out), left[id(case)])
            action = named(str(out), ACTIONS) or ("FORWARD" if target else "EXECUTE")
            if target is None:  # nobody to pass it on to
                action = "EXECUTE"
            chosen[id(case)] = (action, target, str(out))
        parts = [case for case in cases if chosen[id(case)][0] == "SPLIT"]
        whole = [case for case in cases if chosen[id(case)][0] == "EXECUTE"]
        for case in cases:
            action, target, reply = chosen[id(case)]
            case.line.note("route", name, chosen=action, target=target, said=reply)
        for case, out in zip(parts, self._work(talk, agent, PART, parts), strict=True):
            case.done.append((name.capitalize(), words(out)))
        for case, out in zip(whole, self._work(talk, agent, EXECUTE, whole), strict=True):
            case.answer = out
        for case in cases:
            action, target, _ = chosen[id(case)]
            case.at = case.at if action == "EXECUTE" else target

    @staticmethod
    def _route(case: _Case, left: list[str]) -> str:
        others = "\n".join(f"{one}: {DUTIES[one]}" for one in left)
        return said(ROUTE.format(others=others, task=case.line.question), case.done)

    @staticmethod
    def _work(talk: Talk, agent, turn: str, cases: list[_Case]) -> list[Output]:
        turns = [said(turn.format(task=case.line.question), case.done) for case in cases]
        return talk.say(agent, [case.line for case in cases], turns)
