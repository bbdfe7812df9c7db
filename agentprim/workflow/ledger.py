"""A ledger: what one query has spent of a plan's budget, and what is left for a step."""

import time
from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.workflow.plan import Budget, Step


@dataclass
class Ledger:
    """Spending of one query.

    Attributes:
        budget: Of the whole.
        begun: When it began, as `time.perf_counter` counts.
        calls, decoded: What was spent.
        over: Why nothing may begin any more, or empty.
    """

    budget: Budget
    begun: float
    calls: int = 0
    decoded: int = 0
    over: str = ""

    def count(self, out: Output) -> None:
        """Count what a step did."""
        self.calls += sum(event.kind == "call" for event in out.trace)
        self.decoded += out.usage.decoded

    def left(self, step: Step | None = None, *, kept: int = 0) -> Budget:
        """Return what a step may spend: of the whole and of its own budget, the lesser.

        A number may be 0 or less; then nothing is left. `kept` calls of the whole are not for it.
        """
        whole, spent = self.budget, time.perf_counter() - self.begun
        left = Budget.model_construct(
            calls=_minus(whole.calls, self.calls + kept),
            decoded=_minus(whole.decoded, self.decoded),
            seconds=_minus(whole.seconds, spent),
        )
        return left.least(step.budget if step else None)

    def refuses(self, left: Budget) -> str:
        """Say which part of a budget is spent; empty if none is."""
        for name in ("calls", "decoded", "seconds"):
            value = getattr(left, name)
            if value is not None and value <= 0:
                return f"budget of {name} is spent"
        return ""


def _minus(most, spent):
    return None if most is None else most - spent
