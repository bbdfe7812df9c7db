"""Four agents in sequence: planner, critic, refiner and judger, by text or in one growing cache."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line, words
from agentprim.evaluate.methods.talk import Talk
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
class TextMas(Talk):
    """The text baseline of LatentMAS (arXiv 2511.20639): each agent reads what all before it said.

    The paper's prompts are not used; ours are the same turns as in `LatentMas`.
    """

    name: str = "text_mas"
    about: str = "planner, critic, refiner and judger by text (arXiv 2511.20639)"

    def cast(self) -> dict[str, None]:
        """Return the roles; see `Talk`."""
        return dict.fromkeys(TURNS)

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        known: list[tuple[str, str]] = []
        for role, turn in TURNS.items():
            out = line.say(role, said(turn.format(task=line.question), known))
            known.append((role.capitalize(), words(out)))
        return out


@dataclass(frozen=True, kw_only=True)
class LatentMas(Talk):
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

    def cast(self) -> dict[str, None]:
        """Return the roles; see `Talk`."""
        return dict.fromkeys(TURNS)

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        grown: list[Output] = []
        for role, turn in TURNS.items():
            agent, limits = line.agents[role], line.limits
            asked, common = turn.format(task=line.question), {"context": grown, "join": "append"}
            if role == "judger":
                return line.paid(agent(
                    asked, max_new_tokens=limits.max_new_tokens, temperature=limits.temperature,
                    top_p=limits.top_p, seed=line.draw(), **common,
                ))  # fmt: skip
            out = agent.think(asked, inner="latent", steps=limits.steps, seed=line.draw(), **common)
            grown = [line.paid(out)]
