"""Workflows: a plan is a graph of primitives, and a flow runs it like one agent."""

from agentprim.workflow.cost import Estimate, estimate
from agentprim.workflow.flow import Flow
from agentprim.workflow.plan import Budget, Plan, Step

__all__ = ["Budget", "Estimate", "Flow", "Plan", "Step", "estimate"]
