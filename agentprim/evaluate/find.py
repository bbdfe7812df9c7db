"""Find tasks and methods by name: those of the registries, and the two readers."""

from collections.abc import Iterator

from agentprim.evaluate import methods, tasks
from agentprim.evaluate.base import Method, Task
from agentprim.evaluate.handed import NAMES, reader
from agentprim.evaluate.job import Registry


def task(name: str) -> Task:
    """Return a task.

    Raises:
        ValueError: There is none of that name.
    """
    return tasks.task(name)


def method(name: str) -> Method:
    """Return a method.

    Raises:
        ValueError: There is none of that name.
    """
    return reader(name) or methods.method(name)


def described() -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and description of all tasks and methods."""
    for name, one in tasks.tasks().items():
        yield "task", name, one.about
    for name, one in (methods.methods() | {name: reader(name) for name in NAMES}).items():
        yield "method", name, one.about


REGISTRY = Registry(task=task, method=method)
