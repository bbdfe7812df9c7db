"""A MetaGPT-style control: fixed roles hand on documents by a fixed procedure."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods.talk import Talk, words
from agentprim.evaluate.methods.verdict import opens
from agentprim.primitives.prompts import said

ENGINEER = "Write the solution of the task by the design and the work plan. Give the final answer."
# who works in which order: the name of the document, whose documents are read, and what for
PROCEDURE = {
    "product_manager": (
        "Requirements", (), "Write the requirements: what is given, what is asked, and in which "
        "form. Do not solve the task.",
    ),
    "architect": (
        "Design", ("Requirements",), "Write the design: which method solves the task, and why. Do "
        "not solve it.",
    ),
    "project_manager": (
        "Work plan", ("Requirements", "Design"), "Write the work plan: the steps in their order. "
        "Do not carry them out.",
    ),
    "engineer": ("Solution", ("Design", "Work plan"), ENGINEER),
}  # fmt: skip
TEST = (
    "Test the solution against the requirements. If it passes, reply with the one word PASS. "
    "Otherwise report exactly what fails."
)


@dataclass(frozen=True, kw_only=True)
class MetaGptControl:
    """A control in the style of MetaGPT (arXiv 2308.00352), as compared with by Jev-LiteMAS.

    A standard procedure: product manager, architect, project manager and engineer write one
    document each and read those that they subscribe to; a tester passes the solution or reports
    what fails, and the engineer mends it. *Jev-LiteMAS* (arXiv 2610.21411) does not publish its
    control. Not as in MetaGPT: documents have no schema, tools and repositories are left out,
    tests are words and no code is run, nobody but the engineer is asked again.

    Attributes:
        repairs: Most corrections by the engineer.
    """

    name: str = "metagpt_control"
    about: str = "a fixed procedure of five roles by documents (after arXiv 2308.00352)"
    repairs: int = 2

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer; see `Method`."""
        talk = Talk(engine, questions, limits, seeds)
        documents: list[dict[str, str]] = [{} for _ in talk.lines]
        everyone = list(range(len(talk.lines)))
        agents = {role: self._hire(talk, role) for role in (*PROCEDURE, "tester")}
        last: list[Output] = []
        for role, (document, reads, duty) in PROCEDURE.items():
            last = self._ask(talk, agents[role], duty, everyone, documents, reads)
            for known, out in zip(documents, last, strict=True):
                known[document] = words(out)
        live = everyone
        for number in range(self.repairs):
            reports = self._ask(
                talk, agents["tester"], TEST, live, documents, ("Requirements", "Solution")
            )
            going = []
            for i, out in zip(live, reports, strict=True):
                passed = opens(out, "pass")
                talk.lines[i].note("review", self.name, round=number + 1, passed=passed)
                documents[i]["Report"] = words(out)
                if not passed:
                    going.append(i)
            live, reads = going, ("Design", "Work plan", "Solution", "Report")
            mended = self._ask(talk, agents["engineer"], ENGINEER, live, documents, reads)
            for i, out in zip(live, mended, strict=True):
                last[i], documents[i]["Solution"] = out, words(out)
        return talk.end(last, self.name)

    @staticmethod
    def _hire(talk: Talk, role: str):
        return talk.agent(role, f"You are the {role.replace('_', ' ')} of a team.")

    @staticmethod
    def _ask(talk: Talk, agent, duty: str, live: list[int], documents, reads) -> list[Output]:
        lines = [talk.lines[i] for i in live]
        turns = [
            said(f"{duty}\n\nTask: {talk.lines[i].question}",
                 [(name, documents[i][name]) for name in reads])
            for i in live
        ]  # fmt: skip
        return talk.say(agent, lines, turns)
