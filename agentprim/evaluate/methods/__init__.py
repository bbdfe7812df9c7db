"""Methods: ways to answer questions with one model, from a single agent to the papers' systems."""

from agentprim.evaluate.methods.last import last_answer
from agentprim.evaluate.methods.registry import method, methods

__all__ = ["last_answer", "method", "methods"]
