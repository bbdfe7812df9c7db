"""Flow: a plan that is called like an agent."""

from collections.abc import Callable

from agentprim.engine import Engine, Output
from agentprim.primitives import prompts
from agentprim.primitives.primitive import Item, Primitive, Speak
from agentprim.workflow.build import Agents
from agentprim.workflow.options import resolve
from agentprim.workflow.plan import Budget, Plan, Step
from agentprim.workflow.run import Run
from agentprim.workflow.state import Watch


class Flow(Primitive):
    """Runs a plan: same call as an agent, same `Output`, so a plan takes any role.

    Steps run as soon as all they read is there; equal ones at the same time as one batch. A step
    that is not the output thinks, as `inner` says, and its cache is freed when its last reader is
    done.

    A step that fails marks those that stand on it as skipped. Where the output cannot run, or the
    budget is spent, the deepest step that is done and was not read yet answers instead. If it
    only thought, a solver puts its thought into words, as long as the budget has a turn left. The
    answer then has finish `"error"` or `"budget"`, and its trace says what became of each step.
    With `strict`, or where nothing can be said, the fault is raised.
    """

    rescue_prompt = prompts.SOLVER

    def __init__(
        self,
        engine: Engine,
        plan: Plan | None,
        *,
        strict: bool = False,
        watch: Watch | None = None,
        name: str = "system",
        agents: Agents | None = None,
        **options,
    ) -> None:
        """Take a plan.

        Args:
            engine: The model of all roles.
            plan: The plan.
            strict: Raise the fault of a step, and `BudgetExceeded`, instead of answering with
                what is there.
            watch: Called as `watch(step, status, row)` with `"running"`, `"done"`, `"failed"` or
                `"skipped"`.
            name: Name of the whole.
            agents: Where roles are kept between calls.
            options: Fields of `Options`, for steps that have none of their own.

        Raises:
            PlanError: The options do not fit the plan.
            ValueError, TypeError: An option is out of range or unknown.
        """
        super().__init__(engine, name=name, **options)
        self.given = {key: value for key, value in options.items() if key != "seed"}
        self.plan, self.strict, self.watch = plan, strict, watch
        self.agents = agents or Agents(engine)
        if plan is not None:
            resolve(plan, self.given, {})

    def run(self, items: list[Item], speak: Speak) -> list[Output]:
        """Run the plan for all items."""
        return self.follow(self.plan, items, speak)

    def follow(self, plan: Plan, items: list[Item], speak: Speak) -> list[Output]:
        """Run a plan for some items."""
        return Run(self, plan, items, speak)()

    def thinking(
        self, agent, items: list[Item], turns: list, contexts: list, options
    ) -> list[Output]:
        """Let a step work that is not the output."""
        more = {"max_new_tokens": options.inner_tokens} if options.inner == "text" else {}
        return agent.think(
            turns, context=contexts, inner=options.inner, steps=options.steps,
            settle=options.settle, **self._hands(items), **more,
        )  # fmt: skip

    def inside(self, step: Step, budget: Budget, options: dict) -> "Flow":
        """Make the flow of a plan inside a step."""
        watch: Callable | None = None
        if self.watch is not None:
            watch = lambda name, status, row: self.watch(f"{step.id}.{name}", status, row)  # noqa: E731
        plan = step.plan.model_copy(update={"budget": budget})
        return Flow(
            self.engine, plan, strict=self.strict, watch=watch, name=step.id,
            agents=self.agents, **options,
        )  # fmt: skip
