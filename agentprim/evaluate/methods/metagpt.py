"""A MetaGPT-style control: fixed roles hand on documents by a fixed procedure."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line, words
from agentprim.evaluate.methods.talk import Talk
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
class MetaGptControl(Talk):
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

    def cast(self) -> dict[str, str]:
        """Return the roles; see `Talk`."""
        return {
            role: f"You are the {role.replace('_', ' ')} of a team."
            for role in (*PROCEDURE, "tester")
        }

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        documents: dict[str, str] = {}
        for role, (document, reads, duty) in PROCEDURE.items():
            last = self._work(line, role, duty, documents, reads)
            documents[document] = words(last)
        for number in range(self.repairs):
            report = self._work(line, "tester", TEST, documents, ("Requirements", "Solution"))
            passed = opens(report, "pass")
            line.note("review", self.name, round=number + 1, passed=passed)
            if passed:
                break
            documents["Report"] = words(report)
            reads = ("Design", "Work plan", "Solution", "Report")
            last = self._work(line, "engineer", ENGINEER, documents, reads)
            documents["Solution"] = words(last)
        return last

    @staticmethod
    def _work(line: Line, role: str, duty: str, documents: dict[str, str], reads) -> Output:
        known = [(name, documents[name]) for name in reads]
        return line.say(role, said(f"{duty}\n\nTask: {line.question}", known))
