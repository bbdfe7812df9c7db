"""Solve: a primitive of one agent, which answers with what others hand over."""

from agentprim.agent import Agent
from agentprim.engine import Engine, Output
from agentprim.primitives import prompts
from agentprim.primitives.primitive import Item, Primitive, Speak


class Solve(Primitive):
    """One agent under the options of a primitive, so that a plan treats all steps alike."""

    def __init__(self, engine: Engine, *, solver=None, name: str = "solve", **options) -> None:
        """Make the role.

        Args:
            engine: The model.
            solver: An agent or a primitive that takes the role instead.
            name: Name of the whole.
            options: Fields of `Options`.
        """
        super().__init__(engine, name=name, **options)
        self.solver = solver or Agent(engine, prompts.SOLVER, name="solver")

    def run(self, items: list[Item], speak: Speak) -> list[Output]:
        """Let the agent answer."""
        outside = [item.context for item in items]
        return self.finish(self.solver, items, prompts.ALONE, outside, speak)
