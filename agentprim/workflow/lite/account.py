"""Accounts: what a run cost, by activity, in tokens, seconds and money; and against a control."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from agentprim.engine import Cost, Output, Usage


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What a million tokens cost, in any currency.

    Attributes:
        read: Tokens that generative calls prefill.
        reused: Tokens that they read from the pool.
        written: Tokens that they decode; latent steps count as such.
        decided: Tokens that decisions run through the model.
    """

    read: float = 0.0
    reused: float = 0.0
    written: float = 0.0
    decided: float = 0.0

    def of(self, cost: Cost) -> float:
        """Return what a cost comes to."""
        return (
            cost.prefilled * self.read + cost.reused * self.reused
            + (cost.decoded + cost.latent) * self.written + cost.decision_tokens * self.decided
        ) / 1e6  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Line:
    """One activity of a run.

    Attributes:
        activity: execution, routing, screening, review or repair.
        calls: Generative calls.
        decisions: Decision calls.
        read, written, decided: Tokens of generative input and output, and of decisions.
        tokens: All generative tokens.
        seconds: Wall time.
        money: By the price table.
        token_share: Of all generative tokens of the run, in 0..1.
    """

    activity: str
    calls: int
    decisions: int
    read: int
    written: int
    decided: int
    tokens: int
    seconds: float
    money: float
    token_share: float


def lines(usage: Usage, prices: Prices | None = None) -> list[Line]:
    """Profile a usage by activity, as the paper profiles the systems that it compares."""
    prices = prices or Prices()
    whole = max(1, _tokens(usage.total))
    return [
        Line(
            activity=activity, calls=cost.generative_calls, decisions=cost.decision_calls,
            read=cost.prefilled, written=cost.decoded + cost.latent, decided=cost.decision_tokens,
            tokens=_tokens(cost), seconds=cost.seconds, money=prices.of(cost),
            token_share=_tokens(cost) / whole,
        )
        for activity, cost in usage.roles.items()
    ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Savings:
    """A run against a control on the same tasks.

    Attributes:
        tasks: How many.
        tokens, seconds, calls, money: 1 - run / control; None where the control has 0.
        screening_cost: Money (seconds without prices) that screening cost.
        avoided_review_cost: Work that screening passed, times the mean cost of a review: the
            control's, which reviews everything; the run's own where the control has none.
        pays: Whether screening cost less than what it avoided: the paper's condition.
    """

    tasks: int
    tokens: float | None
    seconds: float | None
    calls: float | None
    money: float | None
    screening_cost: float
    avoided_review_cost: float
    pays: bool

    def to_dict(self) -> dict:
        """Return the figures as plain data."""
        return asdict(self)


def savings(
    run: Sequence[Output], control: Sequence[Output], prices: Prices | None = None
) -> Savings:
    """Compare two runs of the same tasks.

    Raises:
        ValueError: They do not have the same number of tasks.
    """
    if len(run) != len(control) or not run:
        raise ValueError(f"control must have {len(run)} tasks like the run, got {len(control)}")
    ours, theirs = (sum((out.usage for out in outputs), Usage()) for outputs in (run, control))
    measure = prices.of if prices else (lambda cost: cost.seconds)
    passed = sum(
        event.kind == "screen" and event.detail["passed"] for out in run for event in out.trace
    )
    reviews = theirs.roles.get("review") or ours.roles.get("review") or Cost()
    each = measure(reviews) / max(1, reviews.generative_calls)
    screening = measure(ours.roles.get("screening", Cost()))
    return Savings(
        tasks=len(run),
        tokens=_less(_tokens(ours.total), _tokens(theirs.total)),
        seconds=_less(ours.seconds, theirs.seconds),
        calls=_less(ours.generative_calls, theirs.generative_calls),
        money=_less(prices.of(ours.total), prices.of(theirs.total)) if prices else None,
        screening_cost=screening,
        avoided_review_cost=passed * each,
        pays=screening < passed * each,
    )


def _tokens(cost: Cost) -> int:
    return cost.prefilled + cost.decoded + cost.latent


def _less(ours: float, theirs: float) -> float | None:
    return 1 - ours / theirs if theirs else None
