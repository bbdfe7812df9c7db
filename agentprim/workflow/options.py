"""Options of each step: what the call says, else the step, else the system."""

from collections.abc import Mapping

from agentprim.primitives.primitive import Options
from agentprim.workflow.parameters import HANDS
from agentprim.workflow.plan import Plan, Step, refuse


def resolve(plan: Plan, system: Mapping, given: Mapping) -> dict[str, Options]:
    """Find out how the agents of each step work with each other.

    A step that hands over to one with `comm="text"` must speak, so it does unless it says
    otherwise.

    Args:
        plan: The plan.
        system: Fields of `Options` that hold where a step has none of its own.
        given: Those of the call, which hold for all steps.

    Raises:
        PlanError: It names every step whose options do not fit together.
    """
    heard = {
        one
        for step in plan.steps
        if _named(step).get("comm", system.get("comm")) == "text"
        for one in step.reads
    }
    found, problems = {}, []
    for step in plan.steps:
        own = _named(step)
        merged = {**system, **own, **given}
        speaks = merged.get("comm") == "text" or step.id in heard
        if speaks and "inner" not in own:
            merged["inner"] = "text"
        elif step.id in heard and merged["inner"] != "text":
            problems.append(
                f"step {step.id!r} must have inner='text', since a step with comm='text' reads "
                f"it, got {merged['inner']!r}"
            )
        try:
            found[step.id] = Options(**merged)
            if step.plan is not None:
                resolve(step.plan, {**merged, "inner": found[step.id].inner}, given)
        except (ValueError, TypeError) as error:
            problems.append(f"step {step.id!r}: {error}")
    refuse("plan", problems)
    return found


def _named(step: Step) -> dict:
    """Return the options that a step itself names."""
    values = ((name, getattr(step.parameters, name)) for name in HANDS)
    return {name: value for name, value in values if value is not None}
