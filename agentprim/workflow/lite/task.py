"""One task on its way: its artifacts, what it spent, and what happened."""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

from agentprim.decide import Question
from agentprim.engine import Event, Output, Usage
from agentprim.workflow.lite.artifact import Artifact, current
from agentprim.workflow.lite.budget import Spent
from agentprim.workflow.lite.requests import Act, Ask, Failure, Reply, Request, texts_only

Steps = Generator[Request, Reply, Any]


@dataclass
class Task:
    """What is known of one task.

    Attributes:
        text: The question.
        context: What came from outside.
        spent: Its budget.
        comm: What travels between experts: `"kv"` or `"text"`.
        seed: Of all sampling, or None.
        artifacts: All work, in order.
        usage: Cost by activity: execution, routing, screening, review, repair.
        trace: What happened, in order.
        failed: Experts that raised; they are not chosen again.
    """

    text: str
    context: tuple[Output, ...]
    spent: Spent
    comm: str
    seed: int | None
    artifacts: list[Artifact] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    trace: list[Event] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)

    def known(self) -> tuple[Output, ...]:
        """Return what an expert gets: everything from outside and all work that still stands."""
        return (*self.context, *(one.output for one in current(self.artifacts)))

    def note(self, kind: str, role: str, **detail) -> None:
        """Add an event to the trace."""
        self.trace.append(Event(kind=kind, role=role, detail=detail))

    def act(self, activity: str, agent, turn: str, senders, most: int) -> Steps:
        """Make a generative call and count it; return its Output or its Failure.

        Raises:
            BudgetExceeded: Nothing is left for it.
        """
        self.spent.require()
        senders = tuple(senders) if self.comm == "kv" else texts_only(senders)
        seed = None if self.seed is None else self.seed + self.spent.calls
        reply = yield Act(
            agent=agent, turn=turn, senders=senders, max_new_tokens=self.spent.room(most), seed=seed
        )
        if isinstance(reply, Failure):
            self.spent.calls += 1
            self.note("failure", activity, agent=getattr(agent, "name", "agent"), error=str(reply))
            return reply
        self.spent.add(reply.usage)
        self.usage += Usage({activity: reply.usage.total})
        self.trace += reply.trace
        return reply

    def decide(self, activity: str, decider, question: Question, state) -> Steps:
        """Ask for a decision and count it; return it or its Failure."""
        reply = yield Ask(decider=decider, question=question, state=state)
        if isinstance(reply, Failure):
            self.note("failure", activity, agent="decider", error=str(reply))
            return reply
        cost = {"decision_tokens": reply.tokens, "seconds": reply.seconds}
        self.usage += Usage.of(activity, decision_calls=1, **cost)
        return reply

    def keep(self, expert: str, output: Output, repairs: Artifact | None = None) -> Artifact:
        """Add a piece of work."""
        one = Artifact(
            expert=expert, output=output, number=len(self.artifacts),
            repairs=None if repairs is None else repairs.number,
        )  # fmt: skip
        self.artifacts.append(one)
        return one

    def settle(self, artifact: Artifact, *, released: bool) -> None:
        """Note whether a piece of work passed."""
        self.artifacts[artifact.number] = replace(artifact, released=released)
