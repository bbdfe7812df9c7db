"""Run code that a model wrote in a process of its own, with limits, and leave nothing behind."""

from agentprim.evaluate.sandbox.limits import Ran, SandboxLimits
from agentprim.evaluate.sandbox.run import run_code

__all__ = ["Ran", "SandboxLimits", "run_code"]
