"""What an evaluation is made of: items, tasks that grade, and methods that answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agentprim.engine import Engine, Output

Extract = Callable[[str], str | None]


@dataclass(frozen=True, kw_only=True)
class Item:
    """One question of a task.

    Attributes:
        id: Unique within its task, and the same on every machine.
        question: What a method is asked, complete: choices of answers, tests to pass.
        answer: What is right, in the task's own form.
        group: For stratified samples and for curves: a subject, a level, a number of noise
            sentences.
        more: What else the grader needs, JSON-serialisable.
    """

    id: str
    question: str
    answer: str
    group: str = ""
    more: dict = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Grade:
    """What an answer was found to be.

    Attributes:
        correct: Whether it is right.
        extracted: What was read out of it; None where nothing was found.
        reason: Why it is wrong, where that is known: `"no answer"`, `"time"`, `"memory"`, ...
        scores: Further figures, such as whether an injected instruction was followed.
    """

    correct: bool
    extracted: str | None
    reason: str = ""
    scores: dict[str, float] = field(default_factory=dict)


class Task(Protocol):
    """A set of items and how answers to them are graded.

    A task may also have `extract(item, text) -> str | None`: what a text answers, in a form in
    which equal answers are equal texts, read by the code that grades it; None where it finds no
    answer. Methods that vote compare by it. It must not look at `item.answer`.

    Both are given what a model said aloud: reasoning before a closing tag is cut off.

    Attributes:
        name: As on the command line.
        about: One line: what it is, where it comes from, and whether data here are real.
    """

    name: str
    about: str

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Load items in a stable order: all of them, or a sample of `limit` drawn by `seed`.

        Args:
            path: Where the publisher's file lies; None loads it from the hub, or makes the items.
            limit: Most items; None takes all.
            seed: Of the sample, stratified by `group`.
        """

    def grade(self, item: Item, text: str) -> Grade:
        """Grade an answer."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What every method of a comparison gets alike.

    Attributes:
        max_new_tokens: Most tokens of one decoded answer.
        steps: Latent steps of an inner agent.
        inner: What inner agents of KV methods do: `"latent"`, `"text"` or `"prefill"`.
        temperature, top_p: Of all sampling; 0 is greedy.
    """

    max_new_tokens: int = 256
    steps: int = 40
    inner: str = "latent"
    temperature: float = 0.0
    top_p: float = 1.0


class Method(Protocol):
    """Answers questions, a batch at a time.

    One with a true `takes_extracts` may compare answers, and has a further argument `extracts`: one
    function a question that reads the answer of a text, as the task does; see `Task`. One with a
    true `takes_material` has `materials`: what its sender reads, one text a question. One with a
    true `takes_expert` has `expert`: the engine of a second model.

    Attributes:
        name: As on the command line.
        about: One line, with the paper that it comes from.
    """

    name: str
    about: str

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer each question; the same seeds give the same answers, whatever the batch.

        Returns:
            One `Output` a question, with the usage of everything that led to it.
        """
