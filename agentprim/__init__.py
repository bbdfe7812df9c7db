"""Agents that share one model hand each other their KV caches instead of text."""

from agentprim.agent import Agent, RemoteAgent
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.config import VERSION
from agentprim.decide import Decider, Decision
from agentprim.engine import Cost, Engine, Event, Output, Repair, Usage, together
from agentprim.errors import (
    AgentPrimError,
    BudgetExceeded,
    PlanError,
    PoolExhausted,
    UnsupportedModel,
    VerificationFailed,
)
from agentprim.organizer import KnowledgePool, Organizer, System
from agentprim.primitives import Planning, Review, Voting
from agentprim.trust import Auto, Certificate, attention_mass, verify
from agentprim.workflow import Plan, Step
from agentprim.workflow.lite import LiteWorkflow

__version__ = VERSION

__all__ = [
    "KV",
    "Agent",
    "AgentPrimError",
    "Auto",
    "BudgetExceeded",
    "Certificate",
    "Cost",
    "Decider",
    "Decision",
    "Engine",
    "Event",
    "KnowledgePool",
    "LiteWorkflow",
    "Organizer",
    "Output",
    "Plan",
    "PlanError",
    "Planning",
    "PoolExhausted",
    "RemoteAgent",
    "Repair",
    "Review",
    "Step",
    "System",
    "UnsupportedModel",
    "Usage",
    "VerificationFailed",
    "Voting",
    "attention_mass",
    "join",
    "together",
    "verify",
]
