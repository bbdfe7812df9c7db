"""Find tasks and methods by name: those of the registries, and the two readers."""

from agentprim.evaluate import methods, tasks
from agentprim.evaluate.base import Method, Task
from agentprim.evaluate.handed import reader
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


REGISTRY = Registry(task=task, method=method)
