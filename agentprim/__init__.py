"""Agents that share one model hand each other their KV caches instead of text."""

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.errors import (
    AgentPrimError,
    BudgetExceeded,
    PlanError,
    PoolExhausted,
    UnsupportedModel,
    VerificationFailed,
)

__all__ = [
    "KV",
    "AgentPrimError",
    "BudgetExceeded",
    "PlanError",
    "PoolExhausted",
    "UnsupportedModel",
    "VerificationFailed",
    "join",
]
