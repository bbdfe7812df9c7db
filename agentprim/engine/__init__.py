"""Engine: one model with a pool, and what its calls return."""

from agentprim.engine.engine import Engine
from agentprim.engine.output import Event, Output
from agentprim.engine.repair import Repair
from agentprim.engine.together import together
from agentprim.engine.usage import Cost, Usage

__all__ = ["Cost", "Engine", "Event", "Output", "Repair", "Usage", "together"]
