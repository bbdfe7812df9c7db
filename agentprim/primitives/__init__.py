"""Primitives: Review, Voting and Planning, each called like one agent."""

from agentprim.primitives.planning import Planning
from agentprim.primitives.primitive import Options, Primitive
from agentprim.primitives.review import Review
from agentprim.primitives.voting import Voting

__all__ = ["Options", "Planning", "Primitive", "Review", "Voting"]
