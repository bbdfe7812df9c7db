"""Methods: a primitive or a single agent, built from a command's options, that tells who works."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agentprim.agent import Agent
from agentprim.engine import Engine
from agentprim.primitives import Planning, Review, Voting, prompts

Kind = Literal["review", "voting", "planning", "single"]
PRIMITIVES = {"review": Review, "voting": Voting, "planning": Planning}
SIZES = {"review": "rounds", "voting": "solvers", "planning": "executors"}


@dataclass(frozen=True, kw_only=True)
class Method:
    """What answers a question.

    Attributes:
        call: Called like an agent.
        words: Its name and how its agents work, for titles.
        comm, inner: How its agents communicate and work; empty for a single agent.
    """

    call: Callable
    words: str
    comm: str
    inner: str


def build(engine: Engine, kind: Kind, report: Callable[[str], None], **options) -> Method:
    """Build a method.

    Args:
        engine: The model of all roles.
        kind: Which one.
        report: Called with a role and what it does, whenever a role begins.
        options: Of the primitive; those that are None take its defaults.

    Raises:
        ValueError: An option is out of range, or means nothing for this method.
    """
    given = {name: value for name, value in options.items() if value is not None}
    _refuse_strangers(kind, given)
    if kind == "single":
        agent = Agent(engine, prompts.SOLVER, name="single")
        return Method(call=Announced(agent, report), words="single agent", comm="", inner="")
    primitive = PRIMITIVES[kind](engine, **given)
    for name, value in vars(primitive).items():
        if isinstance(value, Agent):
            setattr(primitive, name, Announced(value, report))
    o = primitive.options
    detail = {"latent": f"at most {o.steps} steps", "text": f"at most {o.inner_tokens} tokens"}
    inner = f"{o.inner} ({detail[o.inner]})" if o.inner in detail else o.inner
    turned = "" if o.rotate else ", NOT ROTATED"
    placed = f", join {o.join}" if "join" in given else ""
    words = f"{kind} over {o.comm}, inner {inner}{placed}{turned}"
    return Method(call=primitive, words=words, comm=o.comm, inner=o.inner)


def _refuse_strangers(kind: Kind, given: dict[str, object]) -> None:
    strangers = set(SIZES.values()) - {SIZES.get(kind)}
    if kind == "single":
        strangers |= set(given)
    for name in given:
        if name in strangers:
            owners = [k for k, size in SIZES.items() if size == name] or list(SIZES)
            raise ValueError(
                f"{name} must be used with --primitive {' or '.join(owners)}, got {kind}"
            )
    if given.get("rotate") is False and given.get("comm") == "text":
        raise ValueError("rotate must be left on with comm='text', which moves no keys")
    if "join" in given and given.get("comm") == "text":
        raise ValueError("join must be left out with comm='text', which hands over no keys")


class Announced:
    """An agent that says when it begins."""

    def __init__(self, agent: Agent, report: Callable[[str], None]) -> None:
        """Stand in for an agent."""
        self._agent, self._report = agent, report

    def __call__(self, *args, **options):
        """Answer as the agent does."""
        self._report(f"{self._agent.name} answers")
        return self._agent(*args, **options)

    def think(self, *args, **options):
        """Think as the agent does."""
        self._report(f"{self._agent.name} works")
        return self._agent.think(*args, **options)
