"""A task and methods for runs: small, but answered by a real engine."""

from agentprim import Agent, Output
from agentprim.evaluate.base import Grade, Item
from agentprim.evaluate.handed import reader
from agentprim.evaluate.job import Registry


class Letters:
    """Right is what has many e in it: about half of what the tiny model says."""

    name, about = "letters", "made up for tests"

    def __init__(self, count: int = 7) -> None:
        self.count = count

    def load(self, path, limit, seed):
        if path is not None and not path.read_text():
            raise OSError(f"{path.name} is empty")
        items = [
            Item(id=f"q{n}", question=f"What is {n} and {'x' * n}?", answer="e", group=str(n % 2),
                 more={"material": f"The note says {n}.", "ask": f"What is {n}?"})
            for n in range(self.count)
        ]  # fmt: skip
        return items[:limit]

    def grade(self, item, text):
        if "ungradable" in item.question:
            raise RuntimeError("no grade")
        found = text[:1] or None
        return Grade(correct=len(text) % 2 == 0, extracted=found, scores={"length": len(text)})


class Asks:
    """One agent."""

    about = "asks once"

    def __init__(self, name: str, system: str, fails_on: str | None = None) -> None:
        self.name, self.system, self.fails_on = name, system, fails_on
        self.seen = []

    def __call__(self, engine, questions, limits, seeds):
        self.seen.append(len(questions))
        for question in questions:
            if self.fails_on is not None and self.fails_on in question:
                raise RuntimeError(f"cannot say {self.fails_on}")
        agent = Agent(engine, system=self.system, name=self.name, temperature=limits.temperature)
        return agent(list(questions), max_new_tokens=limits.max_new_tokens, seed=list(seeds))


class Few(Asks):
    """Answers too few questions."""

    def __call__(self, engine, questions, limits, seeds):
        return [Output("e")] * (len(questions) - 1)


def task(name: str) -> Letters:
    if name != "letters":
        raise ValueError(f"task must be letters, got {name!r}")
    return Letters()


def method(name: str):
    made = {
        "single": Asks("single", "Say it."), "other": Asks("other", "Say something else."),
        "fails": Asks("fails", "Say it.", fails_on="What is 2"),
    }  # fmt: skip
    return reader(name) or made[name]


REGISTRY = Registry(task=task, method=method)


class Killed(Asks):
    """Is killed when it has answered some batches."""

    after: int | None = None

    def __call__(self, engine, questions, limits, seeds):
        if len(self.seen) == self.after:
            raise KeyboardInterrupt
        return super().__call__(engine, questions, limits, seeds)


def counting(*, killed_after: int | None = None) -> tuple[Asks, Registry]:
    """Return a method that counts its items and may be killed, and a registry that gives it."""
    single = Killed("single", "Say it.")
    single.after = killed_after
    return single, Registry(task=task, method=lambda name: reader(name) or single)
