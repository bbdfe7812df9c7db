"""Four agents in sequence: planner, critic, refiner and judger, by text or in one growing cache."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods.talk import Talk, count, draw, words
from agentprim.primitives.prompts import said

TURNS = {
    "planner": (
        "You are the planner. Plan in a few short steps how to solve the task. Do not solve it."
        "\n\nTask: {task}"
    ),
    "critic": (
        "You are the critic. Judge the plan for the task and say how to make it better."
        "\n\nTask: {task}"
    ),
    "refiner": (
        "You are the refiner. With the plan and the criticism, write a better plan for the task. "
        "Be brief.\n\nTask: {task}"
    ),
    "judger": (
        "Solve the task. What the others worked out may help; ignore what does not. Think step by "
        "step, then give the final answer.\n\nTask: {task}"
    ),
}


@dataclass(frozen=True, kw_only=True)
class TextMas:
    """The text baseline of LatentMAS (arXiv 2511.20639): each agent reads what all before it said.

    The paper's prompts are not used; ours are the same turns as in `LatentMas`.
    """

    name: str = "text_mas"
    about: str = "planner, critic, refiner and judger by text (arXiv 2511.20639)"

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer; see `Method`."""
        talk = Talk(engine, questions, limits, seeds)
        speeches: list[list[tuple[str, str]]] = [[] for _ in talk.lines]
        found: list[Output] = []
        for role, turn in TURNS.items():
            turns = [
                said(turn.format(task=line.question), before)
                for line, before in zip(talk.lines, speeches, strict=True)
            ]
            found = talk.say(talk.agent(role), talk.lines, turns)
            for before, out in zip(speeches, found, strict=True):
                before.append((role.capitalize(), words(out)))
        return talk.end(found, self.name)


@dataclass(frozen=True, kw_only=True)
class LatentMas:
    """LatentMAS, sequential (arXiv 2511.20639): latent thoughts in one cache that only grows.

    Each of the first three agents reads its turn behind all that is cached and takes
    `limits.steps` latent steps; the judger reads its turn and decodes. Nothing moves
    (`join="append"`). A step's embedding comes from the engine: the paper's closed form (ridge
    regression from output to input embeddings, scaled to their mean norm), or, where input and
    output embeddings are tied, which leaves the closed form next to the identity, the expected
    embedding of the next token (`"softmax"`). `Engine(latent=...)` forces one of them.

    Not as in the paper: its prompts; it reads the generic system prompt again with each agent,
    here it stands once at the front; it samples at temperature 0.6 and top_p 0.95, here the limits
    say; its hierarchical setting (agents side by side) is left out.

    Attributes:
        twin: Name of the text twin.
    """

    name: str = "latent_mas"
    about: str = "the same four agents, latent steps in one growing cache (arXiv 2511.20639)"
    twin: str | None = "text_mas"

    def __call__(
        self, engine: Engine, questions: Sequence[str], limits: Limits, seeds: Sequence[int]
    ) -> list[Output]:
        """Answer; see `Method`."""
        if not questions:
            return []
        talk = Talk(engine, questions, limits, seeds)
        grown: list[list[Output]] = [[] for _ in talk.lines]
        for role, turn in TURNS.items():
            agent = talk.agent(role)
            turns = [turn.format(task=line.question) for line in talk.lines]
            common = {"context": grown, "join": "append", "seed": draw(talk.lines)}
            if role == "judger":
                found = agent(
                    turns, max_new_tokens=limits.max_new_tokens, temperature=limits.temperature,
                    top_p=limits.top_p, **common,
                )  # fmt: skip
            else:
                found = agent.think(turns, inner="latent", steps=limits.steps, **common)
            count(talk.lines, found)
            grown = [[out] for out in found]
        return talk.end(found, self.name)
