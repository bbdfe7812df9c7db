"""Primitives on a tiny engine, and a reading of what their traces say."""

from agentprim import Agent
from tests.engine.making import engine

FAST = {"steps": 2, "inner_tokens": 4}
SHORT = {"max_new_tokens": 4}


def make(kind, **options):
    """Make a primitive on the shared engine, with short turns."""
    return kind(engine(), **{**FAST, **options})


def role(name: str) -> Agent:
    """Make an agent of the shared engine."""
    return Agent(engine(), f"You are {name}.", name=name)


def calls(out) -> list[tuple[str, str]]:
    """List who worked, in order, and how."""
    return [(e.role, e.detail["inner"]) for e in out.trace if e.kind == "call"]


def handovers(out) -> list[tuple[str, str]]:
    """List whose cache went to whom, in order."""
    return [(e.detail["sender"], e.role) for e in out.trace if e.kind == "handover"]


def decisions(out, kind: str) -> list[dict]:
    """List the decisions of a kind."""
    return [e.detail for e in out.trace if e.kind == kind]


class Heard:
    """Stand before an agent, remember what each call gives it, and pass the call on."""

    def __init__(self, agent) -> None:
        """Stand before `agent`."""
        self.agent, self.turns, self.contexts, self.options = agent, [], [], []
        self.outputs = []

    def __call__(self, turns, *, context=(), **options):
        """Pass on a call."""
        return self._note(self.agent, turns, context, options)

    def think(self, turns, *, context=(), **options):
        """Pass on a thought."""
        return self._note(self.agent.think, turns, context, options)

    def _note(self, call, turns, context, options):
        self.turns.append([messages[-1]["content"] for messages in turns])
        self.contexts.append([list(one) for one in context])
        self.options.append(options)
        self.outputs.append(call(turns, context=context, **options))
        return self.outputs[-1]
