"""Jobs: items of one task for one method that are answered as one batch."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from agentprim.evaluate.base import Item, Limits, Method, Task


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a worker answers at once; it can be sent to another process.

    Attributes:
        task: Name of a task.
        method: Name of a method.
        items: The questions.
        limits: What every method gets alike.
        seed: Of the run.
    """

    task: str
    method: str
    items: tuple[Item, ...]
    limits: Limits
    seed: int

    def halves(self) -> list[Self]:
        """Return two jobs of half of the items each."""
        middle = len(self.items) // 2
        return [replace(self, items=part) for part in (self.items[:middle], self.items[middle:])]


@dataclass(frozen=True, kw_only=True)
class Registry:
    """Where names are looked up; functions of modules, so that processes can share it.

    Attributes:
        task: Returns a task by its name.
        method: Returns a method by its name.
    """

    task: Callable[[str], Task]
    method: Callable[[str], Method]


def seed_of(run_seed: int, task: str, item: Item) -> int:
    """Return the seed of an item, the same for every method: comparisons are paired."""
    digest = hashlib.sha256(f"{run_seed} {task} {item.id}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def material(item: Item) -> str:
    """Return what another agent has read and hands over; nothing for most tasks."""
    return str(item.more.get("material", ""))


def ask(item: Item) -> str:
    """Return what is asked of one who is handed the material."""
    return str(item.more.get("ask", item.question))


def batches(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Cut items into batches; the cuts depend on nothing but the sample."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]
