"""Name the faults that callers handle; arguments raise ValueError and TypeError."""

from typing import Self

from agentprim_kernels.pool import PoolExhausted

UNROTATED = (
    "rotate=False hands keys over without moving them to their new place: the paper's ablation, "
    "wrong on purpose"
)

__all__ = [
    "UNROTATED",
    "AgentPrimError",
    "BudgetExceeded",
    "CertificateIgnored",
    "NotRotated",
    "PlanError",
    "PoolExhausted",
    "UnsupportedModel",
    "VerificationFailed",
]


class AgentPrimError(Exception):
    """Base of the errors below; `PoolExhausted` comes from the kernels and is a RuntimeError."""


class UnsupportedModel(AgentPrimError):
    """A model does something to its keys that moving them would get wrong."""

    @classmethod
    def because(
        cls, model_class: str, feature: str, reason: str, way: str = 'use join="append"'
    ) -> Self:
        """Build the error in the words that every refusal shares, the way out last."""
        return cls(f"{model_class} uses {feature}, which cannot be relocated: {reason}; {way}")


class PlanError(AgentPrimError):
    """A plan cannot be read, or cannot finish."""


class BudgetExceeded(AgentPrimError):
    """A run would spend more than it was given."""


class VerificationFailed(AgentPrimError):
    """A check of this machine and model against the reference did not hold."""


class CertificateIgnored(UserWarning):
    """A file that should hold a certificate holds something else, and was not used."""


class NotRotated(UserWarning):
    """Keys were handed over without being moved: an experiment, wrong on purpose."""
