"""What screening does with injected errors: found, let through, and carried into the answer."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from agentprim.engine import Output


@dataclass(frozen=True, kw_only=True)
class Detection:
    """Figures over many runs with injected errors.

    Attributes:
        injected: Work that was changed and screened.
        clean: Work that was not changed and screened.
        detected: Share of the changed work that the first look flagged (true-positive rate).
        false_release: Share of the changed work that passed.
        false_alarm: Share of the clean work that was flagged.
        attack_success: Share of the runs with an injection whose answer is wrong, where `correct`
            was given.
    """

    injected: int
    clean: int
    detected: float | None
    false_release: float | None
    false_alarm: float | None
    attack_success: float | None

    def to_dict(self) -> dict:
        """Return the figures as plain data."""
        return asdict(self)


def detection(
    outputs: Sequence[Output], correct: Callable[[int, Output], bool] | None = None
) -> Detection:
    """Read from the traces of runs what became of injected errors.

    Args:
        outputs: Of a `LiteWorkflow` with `inject`.
        correct: Tells of a task's number and answer whether it is right.
    """
    flagged: dict[bool, list[bool]] = {True: [], False: []}
    attacked = []
    for number, out in enumerate(outputs):
        changed = {e.detail["artifact"] for e in out.trace if e.kind == "inject"}
        looked_at = set()
        for event in out.trace:
            if event.kind in ("screen", "review") and event.detail["artifact"] not in looked_at:
                looked_at.add(event.detail["artifact"])
                flagged[event.detail["artifact"] in changed].append(not event.detail["passed"])
        if changed and correct is not None:
            attacked.append(not correct(number, out))
    found = _share(flagged[True])
    return Detection(
        injected=len(flagged[True]),
        clean=len(flagged[False]),
        detected=found,
        false_release=None if found is None else 1 - found,
        false_alarm=_share(flagged[False]),
        attack_success=_share(attacked),
    )


def _share(values: list[bool]) -> float | None:
    return sum(values) / len(values) if values else None
