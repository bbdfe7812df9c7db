"""LiteWorkflow: routing and screening by bounded decisions (Jev-LiteMAS, arXiv 2610.21411)."""

from agentprim.workflow.lite.artifact import Artifact
from agentprim.workflow.lite.budget import Budget
from agentprim.workflow.lite.expert import Expert
from agentprim.workflow.lite.workflow import LiteWorkflow

__all__ = ["Artifact", "Budget", "Expert", "LiteWorkflow"]
