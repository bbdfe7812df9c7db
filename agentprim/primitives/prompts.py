"""Prompts of all roles, in one place. They are ours: the papers print theirs as pictures only.

A role's turn is the same for both ways to communicate. What other agents said stands in their
caches with `comm="kv"`; with `comm="text"` it is written in front of the turn (`said`). Turns are
templates that `worded` fills in.
"""

from collections.abc import Sequence

SOLVER = (
    "You are a solver. Reason step by step about the task and give the final answer. "
    "Look for errors and gaps in your own reasoning. Take feedback into account."
)
CRITIC = (
    "You are a critic. Read the solution of the task and name what is wrong, missing or unclear, "
    "and how to mend it. Do not rewrite the solution and do not finish it."
)
INDEPENDENT = (
    "You are one of several independent solvers. Use only the task and your own reasoning. "
    "Reason step by step and give the final answer."
)
SELECTOR = (
    "You are a selector. Several solvers worked on the same task without seeing each other. "
    "Compare their solutions, choose the best supported one and give the final answer."
)
PLANNER = "You are a planner. Break the task into a few short numbered steps. Do not solve it."
EXECUTOR = (
    "You are an executor. Carry out your part of the plan with what was found before. "
    "Be exact and brief."
)

ALONE = "{task}"
REVISE = "Solve the task again with the critic's feedback.\n\nTask: {task}"
CRITICISE = "Give feedback on the solution of this task.\n\nTask: {task}"
SELECT = "Choose among the solutions and answer the task.\n\nTask: {task}"
PLAN = "Plan how to solve the task.\n\nTask: {task}"
EXECUTE = "Carry out step {number} of {total} of the plan for this task.\n\nTask: {task}"
CONCLUDE = "Carry out the last step of the plan and give the final answer.\n\nTask: {task}"


def worded(template: str, task: str, *, whole: bool) -> str:
    """Fill the task into a turn; or leave it out with its line, where it has one at the end."""
    alone = template.removesuffix("\n\nTask: {task}")
    return template.replace("{task}", task, 1) if whole or alone == template else alone


def said(turn: str, speeches: Sequence[tuple[str, str]]) -> str:
    """Write what others said in front of a turn, each under its name."""
    if not speeches:
        return turn
    blocks = [f"{name}:\n{text.strip()}" for name, text in speeches]
    return "\n\n".join([*blocks, turn])
