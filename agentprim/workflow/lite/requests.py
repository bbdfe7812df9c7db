"""What one task asks of the world: a generative call, or a decision; and what comes back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentprim.decide import Decider, Question
from agentprim.engine import Output


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
    """Let a decider answer bounded questions about a state."""

    decider: Decider
    questions: tuple[Question, ...]
    state: Any


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A request that raised."""

    error: Exception

    def __str__(self) -> str:
        """Name the error."""
        return f"{type(self.error).__name__}: {self.error}"


Request = Act | Ask
Reply = Output | list | Failure


def hand(act: Act) -> tuple[str, list[Output]]:
    """Give work as caches where the agent can read them, else as text in front of the turn."""
    from agentprim.primitives.prompts import said

    pool = getattr(getattr(act.agent, "engine", None), "pool", None)
    as_text = [one for one in act.senders if not _readable(one, pool)]
    turn = said(act.turn, [(one.name or "context", str(one)) for one in as_text])
    return turn, [one for one in act.senders if _readable(one, pool)]


def texts_only(senders: Sequence[Output]) -> tuple[Output, ...]:
    """Take the caches away: the text twin of a hand-over."""
    return tuple(one.but(kv=None, hidden=None) for one in senders)


def _readable(output: Output, pool) -> bool:
    return pool is not None and output.kv is not None and output.kv.pool is pool
