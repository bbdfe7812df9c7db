"""What one task asks of the world: a generative call, or a decision; and what comes back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentprim.decide import Decider, Decision, Question
from agentprim.engine import Output
from agentprim.primitives.prompts import said


@dataclass(frozen=True, kw_only=True)
class Act:
    """Let an agent answer.

    Attributes:
        agent: Called like an `Agent`.
        turn: What it is asked.
        senders: Whose work it gets, in order.
        max_new_tokens: Most tokens of its answer.
        seed: Of its sampling.
    """

    agent: Any
    turn: str
    senders: tuple[Output, ...]
    max_new_tokens: int
    seed: int | None


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Let a decider answer a bounded question about a state."""

    decider: Decider
    question: Question
    state: Any


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A request that raised."""

    error: Exception

    def __str__(self) -> str:
        """Name the error."""
        return f"{type(self.error).__name__}: {self.error}"


Request = Act | Ask
Reply = Output | Decision | Failure


def hand(act: Act) -> tuple[str, list[Output]]:
    """Say how an agent gets the work of others.

    The latest cache that it can read holds what its maker was handed itself, so that one travels;
    what came after it is written in front of the turn.

    Returns:
        The turn, and at most one Output with a cache.
    """
    pool = getattr(getattr(act.agent, "engine", None), "pool", None)
    readable = [n for n, one in enumerate(act.senders) if _readable(one, pool)]
    last = readable[-1] if readable else -1
    speeches = [(one.name or "context", str(one)) for one in act.senders[last + 1 :]]
    return said(act.turn, speeches), list(act.senders[last : last + 1]) if readable else []


def texts_only(senders: Sequence[Output]) -> tuple[Output, ...]:
    """Take the caches away: the text twin of a hand-over."""
    return tuple(one.but(kv=None, hidden=None) for one in senders)


def _readable(output: Output, pool) -> bool:
    return pool is not None and output.kv is not None and output.kv.pool is pool
