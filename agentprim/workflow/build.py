"""Build the primitive of a step: its roles, their prompts, and how they speak."""

import threading

from agentprim.agent import Agent
from agentprim.engine import Engine
from agentprim.primitives import Planning, Review, Voting, prompts
from agentprim.primitives.primitive import Options, Primitive
from agentprim.workflow.guard import Guard, Guarded
from agentprim.workflow.parameters import ROLES, SAMPLING, SIZES
from agentprim.workflow.plan import Step
from agentprim.workflow.solve import Solve

PRIMITIVES = {"solve": Solve, "review": Review, "voting": Voting, "planning": Planning}
PROMPTS = {
    "solve": {"solver": prompts.SOLVER},
    "review": {"solver": prompts.SOLVER, "critic": prompts.CRITIC},
    "voting": {"solver": prompts.INDEPENDENT, "selector": prompts.SELECTOR},
    "planning": {"planner": prompts.PLANNER, "executor": prompts.EXECUTOR},
}
SPEAKERS = {"solve": "solver", "review": "solver", "voting": "selector", "planning": "executor"}


class Agents:
    """Agents by prompt, kept between calls, so that each system prompt is read once."""

    def __init__(self, engine: Engine, most: int = 128) -> None:
        """Keep the `most` agents that were used last."""
        self.engine, self._most = engine, most
        self._kept: dict[tuple, Agent] = {}
        self._lock = threading.Lock()

    def __call__(self, name: str, system: str, **sampling) -> Agent:
        """Return the agent of a prompt."""
        key = (name, system, *sorted(sampling.items()))
        with self._lock:
            agent = self._kept.pop(key, None) or Agent(self.engine, system, name=name, **sampling)
            self._kept[key] = agent
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return agent


def build(agents: Agents, step: Step, options: Options, guard: Guard) -> Primitive:
    """Make the primitive of a step that is no plan.

    Args:
        agents: Where its roles come from.
        step: The step.
        options: How its agents work with each other.
        guard: Asked before each of their turns.

    Raises:
        ValueError: A parameter is out of range.
    """
    given, kind = step.parameters.model_dump(exclude_none=True), step.primitive
    sizes = {name: given.pop(name) for name in SIZES[kind] if name in given}
    sampling = {name: given[name] for name in SAMPLING if name in given}
    roles = {}
    for role in ROLES[kind]:
        system = given.get("system") or PROMPTS[kind][role]
        if added := (given.get("roles") or {}).get(role):
            system = f"{system} {added}"
        speaks = sampling if role == SPEAKERS[kind] else {}
        roles[role] = Guarded(agents(role, system, **speaks), guard)
    return PRIMITIVES[kind](agents.engine, **sizes, **roles, **vars(options))


def shape(step: Step) -> str:
    """Say what two steps must have in common to run as one batch: all but what they are asked."""
    parameters = step.parameters.model_copy(update={"instruction": None})
    inside = step.plan.to_json(None) if step.plan is not None else ""
    return f"{step.primitive} {parameters.model_dump_json(exclude_none=True)} {inside}"
