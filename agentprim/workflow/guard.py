"""Guards: agents that look at a budget before each turn."""

import time

from agentprim.agent import Agent
from agentprim.errors import BudgetExceeded


class Guard:
    """Counts turns of the agents of one step and ends them when a budget is spent.

    Attributes:
        turns: Turns begun since `start`, per question.
    """

    def __init__(self) -> None:
        """Start without an end."""
        self.start("", None, None)

    def start(self, who: str, turns: int | None, deadline: float | None) -> None:
        """Count from nothing.

        Args:
            who: Whose budget it is, for the message.
            turns: How many may begin.
            deadline: Until when, as `time.perf_counter` counts.
        """
        self._who, self._most, self._deadline = who, turns, deadline
        self.turns = 0

    def __call__(self, samples: int) -> None:
        """Let a turn begin.

        Raises:
            BudgetExceeded: It may not.
        """
        if self._deadline is not None and time.perf_counter() >= self._deadline:
            raise OutOfTime(f"{self._who} must end within its seconds, got none left")
        if self._most is not None and self.turns + samples > self._most:
            raise BudgetExceeded(
                f"{self._who} must take at most {self._most} calls, got {self.turns + samples}"
            )
        self.turns += samples


class OutOfTime(BudgetExceeded):
    """The time is over, and trying again would not help."""


class Guarded:
    """An agent that asks a guard before each turn."""

    def __init__(self, agent: Agent, guard: Guard) -> None:
        """Stand in for an agent."""
        self._agent, self._guard = agent, guard
        self.name = agent.name

    def __call__(self, *args, samples: int = 1, **options):
        """Answer as the agent does."""
        self._guard(samples)
        return self._agent(*args, samples=samples, **options)

    def think(self, *args, samples: int = 1, **options):
        """Think as the agent does."""
        self._guard(samples)
        return self._agent.think(*args, samples=samples, **options)
