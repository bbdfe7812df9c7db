"""A budget in calls, tokens and seconds, and what of it is spent."""

import time
from dataclasses import dataclass, field

from agentprim.engine import Usage
from agentprim.errors import BudgetExceeded


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one task may cost. None is no limit.

    Attributes:
        calls: Generative calls of experts, reviewers and generative routers; a call of a primitive
            counts once for each answer that it decodes.
        tokens: Tokens that those calls prefill or decode.
        seconds: Wall time; looked at between calls.
    """

    calls: int | None = 8
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            ValueError: A limit is not positive.
        """
        for name in ("calls", "tokens", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive or None, got {value}")


@dataclass
class Spent:
    """What one task has cost so far.

    Attributes:
        budget: The limits.
        calls, tokens: What was spent of them.
        begun: When the task began, in `time.monotonic` seconds.
    """

    budget: Budget
    calls: int = 0
    tokens: int = 0
    begun: float = field(default_factory=time.monotonic)

    def require(self) -> None:
        """Check that another generative call may begin.

        Raises:
            BudgetExceeded: A limit is reached.
        """
        spent = {
            "calls": self.calls, "tokens": self.tokens, "seconds": time.monotonic() - self.begun,
        }  # fmt: skip
        for name, value in spent.items():
            limit = getattr(self.budget, name)
            if limit is not None and value >= limit:
                raise BudgetExceeded(f"{name} must stay below {limit}, got {value:.6g}")

    def room(self, most: int) -> int:
        """Return how many tokens a call may decode, at most `most` and at least 1."""
        if self.budget.tokens is None:
            return most
        return max(1, min(most, self.budget.tokens - self.tokens))

    def add(self, usage: Usage) -> None:
        """Count what a generative call cost."""
        self.calls += max(1, usage.generative_calls)
        self.tokens += usage.prefilled + usage.decoded + usage.latent
