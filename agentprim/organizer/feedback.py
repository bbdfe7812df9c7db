"""Composition by feedback: no plan is made ahead; a decider chooses each next primitive."""

from agentprim.agent import Agent
from agentprim.decide import Decider
from agentprim.engine import Engine
from agentprim.primitives import Planning, Review, Voting, prompts
from agentprim.workflow.lite import Expert, LiteWorkflow

CORRECT = "Is the task solved correctly and completely?"
DUTIES = {
    "solve": (Agent, "solves an easy task at once"),
    "review": (Review, "solves and criticises, where an error can be found"),
    "voting": (Voting, "solves several times and selects, for one short answer"),
    "planning": (Planning, "works in steps, for a task of several parts"),
}


def by_feedback(
    engine: Engine,
    decider: Decider | None = None,
    *,
    screening: str = "none",
    reviewer=None,
    inner: str | None = None,
    name: str = "system",
    **options,
) -> LiteWorkflow:
    """Let a decider compose the primitives one by one, each after the last output is known.

    The router of *Jev-LiteMAS* (arXiv 2610.21411) in the Organizer's place of *Agent Primitives*
    (arXiv 2602.03695): after each output it chooses a primitive to go on with, or STOP.

        system = by_feedback(engine, budget=Budget(calls=4))
        answer = system("What is 17 * 23?")

    Args:
        engine: The model of all roles.
        decider: Chooses; default one on this engine.
        screening: Whether outputs are judged as well; see `LiteWorkflow`.
        reviewer: Needed for `"cascade"` and `"llm"`.
        inner: What inner agents of the primitives do; see `Options`.
        name: Who answers.
        options: As in `LiteWorkflow`.
    """
    more = {} if inner is None else {"inner": inner}
    experts = [
        Expert(
            name=kind,
            agent=(
                Agent(engine, prompts.SOLVER, name=kind)
                if make is Agent
                else make(engine, name=kind, **more)
            ),
            duty=duty,
            criterion=CORRECT,
        )
        for kind, (make, duty) in DUTIES.items()
    ]
    return LiteWorkflow(
        experts, decider or Decider(engine), reviewer, screening=screening, name=name, **options
    )
