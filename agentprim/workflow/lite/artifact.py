"""Artifacts: what experts made for a task, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.engine import Output


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One piece of work.

    Attributes:
        expert: Who made it.
        output: What it is, with its cache where its maker has one.
        number: Its place in the run, from 0; a repair is a new artifact.
        repairs: Number of the artifact that it corrects, or None.
        released: Whether screening let it pass, or nothing screened it; None before that.
    """

    expert: str
    output: Output
    number: int
    repairs: int | None = None
    released: bool | None = None


def best(artifacts: Sequence[Artifact]) -> Artifact | None:
    """Return the latest released artifact; the latest of all if none was released."""
    released = [one for one in artifacts if one.released]
    return (released or list(artifacts) or [None])[-1]


def current(artifacts: Sequence[Artifact]) -> list[Artifact]:
    """Leave out what was repaired."""
    replaced = {one.repairs for one in artifacts}
    return [one for one in artifacts if one.number not in replaced]


def transcript(task: str, artifacts: Sequence[Artifact], *, contents: bool = True) -> str:
    """Write a task and what was done for it as text.

    Args:
        task: The question.
        artifacts: In order.
        contents: False leaves out what the work says, and keeps who did it and whether it passed.
    """
    lines = [f"Task: {task}"]
    for one in artifacts:
        verdict = {True: "accepted", False: "not accepted", None: "not screened"}[one.released]
        lines.append(f"{one.expert}: {one.output}" if contents else f"{one.expert}: {verdict}")
    return "\n\n".join(lines)
