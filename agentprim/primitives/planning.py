"""Planning and Execution: a planner, and executors that work on what was found before."""

from agentprim.agent import Agent
from agentprim.engine import Engine, Output
from agentprim.primitives import prompts
from agentprim.primitives.primitive import Item, Primitive, Speak


class Planning(Primitive):
    """A planner hands its plan to a chain of executors; the last one answers.

    Each executor stands on the plan and on all executors before it: their caches are joined in
    the order of the work. *Agent Primitives* (arXiv 2602.03695), section 3.
    """

    def __init__(
        self,
        engine: Engine,
        executors: int = 3,
        *,
        planner=None,
        executor=None,
        name: str = "planning",
        **options,
    ) -> None:
        """Make both roles.

        Args:
            engine: The model of all roles.
            executors: How many executors work, the answering one included.
            planner, executor: Agents or primitives that take the roles instead.
            name: Name of the whole.
            options: Fields of `Options`.

        Raises:
            ValueError: A number or a name is out of range.
        """
        super().__init__(engine, name=name, **options)
        if executors < 1:
            raise ValueError(f"executors must be at least 1, got {executors}")
        self.executors = executors
        self.planner = planner or Agent(engine, prompts.PLANNER, name="planner")
        self.executor = executor or Agent(engine, prompts.EXECUTOR, name="executor")

    def run(self, items: list[Item], speak: Speak) -> list[Output]:
        """Plan, execute step by step, and let the last executor answer."""
        outside = [item.context for item in items]
        plans = self.hand_over(self.planner, items, prompts.PLAN, outside)
        known = [
            [plan] if item.options.inherits else [*item.context, plan]
            for item, plan in zip(items, plans, strict=True)
        ]
        for number in range(1, self.executors):
            turn = prompts.EXECUTE.format(number=number, total=self.executors, task="{task}")
            found = self.hand_over(self.executor, items, turn, known)
            known = [
                [out] if item.options.inherits else [*before, out]
                for item, before, out in zip(items, known, found, strict=True)
            ]
        return self.finish(self.executor, items, prompts.CONCLUDE, known, speak)
