"""An AgentNet-style control: no centre; each agent executes, passes on, or splits."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line, words
from agentprim.evaluate.methods.talk import Talk
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


@dataclass(frozen=True, kw_only=True)
class AgentNetControl(Talk):
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

    def cast(self) -> dict[str, str]:
        """Return the roles; see `Talk`."""
        return {name: SYSTEM.format(name=name, duty=duty) for name, duty in DUTIES.items()}

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        at, left = line.source("entry").choice(list(DUTIES)), list(DUTIES)
        done: list[tuple[str, str]] = []
        while True:
            left.remove(at)
            action, target = self._route(line, at, left, done)
            if action == "EXECUTE":
                return line.say(at, said(EXECUTE.format(task=line.question), done))
            if action == "SPLIT":
                part = line.say(at, said(PART.format(task=line.question), done))
                done.append((at.capitalize(), words(part)))
            at = target

    @staticmethod
    def _route(line: Line, at: str, left: list[str], done: list) -> tuple[str, str | None]:
        """Let an agent say what it does and to whom it passes on; with nobody left it executes."""
        action, target, reply = "EXECUTE", None, ""
        if left:
            others = "\n".join(f"{one}: {DUTIES[one]}" for one in left)
            reply = line.say(at, said(ROUTE.format(others=others, task=line.question), done))
            target = named(reply, left)
        if target is not None:
            action = named(reply, ACTIONS) or "FORWARD"
        line.note("route", at, chosen=action, target=target, said=str(reply))
        return action, target
