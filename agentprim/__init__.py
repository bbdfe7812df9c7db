"""Agents that share one model hand each other their KV caches instead of text."""

from agentprim.agent import Agent, RemoteAgent
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.config import VERSION
from agentprim.decide import Decider, Decision
from agentprim.engine import Cost, Engine, Event, Output, Repair, Usage
from agentprim.errors import (
    AgentPrimError,
    BudgetExceeded,
    PlanError,
    PoolExhausted,
    UnsupportedModel,
    VerificationFailed,
)
from agentprim.primitives import Planning, Review, Voting
from agentprim.trust import Certificate, verify
from agentprim.workflow.lite import LiteWorkflow

__version__ = VERSION

__all__ = [
    "KV",
    "Agent",
    "AgentPrimError",
    "BudgetExceeded",
    "Certificate",
    "Cost",
    "Decider",
    "Decision",
    "Engine",
    "Event",
    "LiteWorkflow",
    "Output",
    "PlanError",
    "Planning",
    "PoolExhausted",
    "Repair",
    "RemoteAgent",
    "Review",
    "UnsupportedModel",
    "Usage",
    "VerificationFailed",
    "Voting",
    "join",
    "verify",
]
