"""What is asked and how answers are graded: one small file for each task.

`Item.more` has `material` and `ask` where what is read can be handed over apart from what is asked
(`notes`, `injection`, `noise`): the complete question is the material, an empty line, and the ask.
"""

from agentprim.evaluate.base import Task
from agentprim.evaluate.tasks.api_bank import ApiBank
from agentprim.evaluate.tasks.choices import GPQADiamond, MedQA
from agentprim.evaluate.tasks.code import HUMANEVAL_PLUS, MBPP_PLUS
from agentprim.evaluate.tasks.competition import AIME24, AIME25, MATH500
from agentprim.evaluate.tasks.gsm8k import GSM8K
from agentprim.evaluate.tasks.idrbench import IDRBenchI3
from agentprim.evaluate.tasks.injection import Injection
from agentprim.evaluate.tasks.noise import Noise
from agentprim.evaluate.tasks.notes import Notes

__all__ = ["task", "tasks"]


def tasks() -> dict[str, Task]:
    """Return all tasks by name."""
    found = (
        GSM8K(), MATH500, AIME24, AIME25, HUMANEVAL_PLUS, MBPP_PLUS, MedQA(), GPQADiamond(),
        ApiBank(), IDRBenchI3(), Notes(), Injection(), Noise(),
    )  # fmt: skip
    return {one.name: one for one in found}


def task(name: str) -> Task:
    """Return a task.

    Raises:
        ValueError: There is none of that name.
    """
    found = tasks()
    if name not in found:
        raise ValueError(f"task must be one of {', '.join(found)}, got {name!r}")
    return found[name]
