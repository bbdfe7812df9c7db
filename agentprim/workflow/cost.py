"""What a plan costs at most, from its structure alone."""

from dataclasses import dataclass

from agentprim.primitives.primitive import Options
from agentprim.workflow.options import resolve
from agentprim.workflow.plan import Plan, Step

ANSWER_TOKENS = 256  # of an answer whose length nobody names, as in `Engine.generate`


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An upper bound on what one query costs; its prompts come on top.

    Attributes:
        calls: Turns of agents.
        speaking: Those of them that decode text.
        decoded: Tokens generated as text.
        latent: Latent steps.
    """

    calls: int = 0
    speaking: int = 0
    decoded: int = 0
    latent: int = 0

    def __add__(self, other: "Estimate") -> "Estimate":
        """Add two bounds."""
        return Estimate(
            calls=self.calls + other.calls, speaking=self.speaking + other.speaking,
            decoded=self.decoded + other.decoded, latent=self.latent + other.latent,
        )  # fmt: skip

    @property
    def tokens(self) -> int:
        """Tokens and latent steps together: passes through the model after reading."""
        return self.decoded + self.latent


def estimate(plan: Plan, *, max_new_tokens: int | None = None, **options) -> Estimate:
    """Bound what a plan costs for one query.

    Args:
        plan: The plan; an early stop of a review makes it cheaper.
        max_new_tokens: Of the answer, where the caller sets it.
        options: Fields of `agentprim.primitives.Options`, as for a `System`.

    Raises:
        PlanError: The options do not fit the plan.
    """
    resolved = resolve(plan, options, {})
    return sum(
        (
            step_cost(step, resolved[step.id], step.id == plan.output, max_new_tokens)
            for step in plan.steps
        ),
        Estimate(),
    )


def step_cost(
    step: Step, options: Options, final: bool, max_new_tokens: int | None = None
) -> Estimate:
    """Bound what one step costs; the final one speaks at its end, others end as `inner` says."""
    if step.plan is not None:
        resolved = resolve(step.plan, inherited(options), {})
        return sum(
            (
                step_cost(one, resolved[one.id], final and one.id == step.plan.output,
                          max_new_tokens)
                for one in step.plan.steps
            ),
            Estimate(),
        )  # fmt: skip
    inner = turns(step) - final
    answer = max_new_tokens or answer_tokens(step)
    spoken = inner if options.inner == "text" else 0
    return Estimate(
        calls=inner + final,
        speaking=spoken + final,
        decoded=spoken * options.inner_tokens + final * answer,
        latent=inner * options.steps if options.inner == "latent" else 0,
    )


def turns(step: Step) -> int:
    """Count the turns of agents in a step that is no plan, all rounds taken."""
    given = step.parameters
    if step.primitive == "review":
        return 2 * (given.rounds or 2) + 1
    if step.primitive == "voting":
        return (given.solvers or 3) + 1
    return (given.executors or 3) + 1 if step.primitive == "planning" else 1


def answer_tokens(step: Step) -> int:
    """Return how many tokens an answer of a step has at most."""
    return getattr(step.parameters, "max_new_tokens", None) or ANSWER_TOKENS


def inherited(options: Options) -> dict:
    """Return what the plan inside a step takes over from its options."""
    return {name: value for name, value in vars(options).items() if name != "seed"}
