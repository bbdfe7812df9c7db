"""Drafts: what was asked for one query so far, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentprim.engine import Usage
from agentprim.engine.chat import Message
from agentprim.errors import PlanError
from agentprim.organizer.entry import Entry
from agentprim.organizer.parse import find_plan
from agentprim.organizer.prompt import messages
from agentprim.organizer.proposal import Proposal
from agentprim.organizer.reply import Reply, Unanswered
from agentprim.workflow import Plan


@dataclass(kw_only=True)
class Draft:
    """A query on its way to a plan.

    Attributes:
        query: What the plan is for.
        entries: Structures that the model is shown.
        plan: What was found.
        problems: Why replies were refused.
        refused: The last reply that was refused, with its problem.
        usage: What it cost so far.
        silent: Whether asking again would not help.
        fault: What the last problem was raised as.
    """

    query: str
    entries: Sequence[Entry] = ()
    plan: Plan | None = None
    problems: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    silent: bool = False
    fault: PlanError | None = None

    @property
    def open(self) -> bool:
        """Whether there is reason to ask."""
        return self.plan is None and not self.silent

    @property
    def messages(self) -> list[Message]:
        """What to ask now."""
        return messages(self.query, self.entries, self.refused)

    def take(self, reply: Reply | Unanswered) -> None:
        """Read an answer. Modifies the draft."""
        if isinstance(reply, Unanswered):
            self.silent, self.fault = True, reply
            self.problems.append(str(reply))
            return
        self.usage += reply.usage
        try:
            self.plan = Plan.from_dict(find_plan(reply.text, cut=reply.cut))
        except PlanError as error:
            self.fault = error
            self.problems.append(str(error))
            self.refused = [(reply.text, str(error))]

    def proposal(self, fallback: Plan | None) -> Proposal:
        """Return what was found, or else the fallback. Modifies the draft.

        Raises:
            PlanError: There is neither; what it comes from is its cause.
        """
        # taken out, since its frames hold the draft, and so would never let go of each other
        fault, self.fault = self.fault, None
        if self.plan is None and fallback is None:
            raise PlanError(self.problems[-1]) from fault
        return Proposal(
            plan=self.plan or fallback, source="fallback" if self.plan is None else "llm",
            entries=tuple(entry.id for entry in self.entries), problems=tuple(self.problems),
            usage=self.usage,
        )  # fmt: skip
