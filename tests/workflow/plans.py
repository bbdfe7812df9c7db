"""Plans for tests, and a reading of what became of their steps."""

from agentprim.workflow import Flow, Plan
from agentprim.workflow.build import Agents
from tests.engine.making import engine

FAST = {"steps": 2, "inner_tokens": 4}
SHORT = {"max_new_tokens": 4}


def step(name: str, *inputs: str, primitive: str = "solve", **more) -> dict:
    """Make a step that reads the query, or what is named, with the rest as its parameters."""
    found = {"id": name, "primitive": primitive, "inputs": list(inputs) or ["query"]}
    for key in ("plan", "budget"):
        if key in more:
            found[key] = more.pop(key)
    return {**found, "parameters": more}


def plan(*steps: dict, **more) -> Plan:
    """Make a plan."""
    return Plan.from_dict({"steps": list(steps), **more})


def flow(*steps: dict, budget: dict | None = None, **options) -> Flow:
    """Make a flow on the shared engine, with short turns."""
    return Flow(engine(), plan(*steps, budget=budget), **{**FAST, **options})


def diamond(**parameters) -> list[dict]:
    """Make a step that two read, and one that reads both."""
    return [
        step("top"),
        step("left", "query", "top", instruction="Look left.", **parameters),
        step("right", "query", "top", instruction="Look right.", **parameters),
        step("end", "query", "left", "right"),
    ]


def statuses(out) -> dict[str, str]:
    """Return what became of each step."""
    return {e.role: e.detail["status"] for e in out.trace if e.kind == "step"}


class Broken:
    """Stands before an agent and fails on turns that hold a word."""

    def __init__(self, agent, word: str) -> None:
        """Fail where `word` is said."""
        self.agent, self.word, self.name = agent, word, agent.name

    def __call__(self, turns, **options):
        """Pass on a call."""
        self._look(turns)
        return self.agent(turns, **options)

    def think(self, turns, **options):
        """Pass on a thought."""
        self._look(turns)
        return self.agent.think(turns, **options)

    def _look(self, turns) -> None:
        for turn in turns:
            if self.word in turn[-1]["content"]:
                raise RuntimeError(f"cannot say {self.word!r}")


class Saboteur(Agents):
    """Makes agents that fail on turns that hold a word."""

    def __init__(self, word: str) -> None:
        """Let every role fail where `word` is said."""
        super().__init__(engine())
        self.word = word

    def __call__(self, *prompt, **sampling):
        """Return the agent of a prompt."""
        return Broken(super().__call__(*prompt, **sampling), self.word)
