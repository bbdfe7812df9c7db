"""LLM-Debate: agents answer, read each other's answers, and answer again."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Extract, Limits
from agentprim.evaluate.methods.majority import elect_each
from agentprim.evaluate.methods.talk import Talk, words
from agentprim.primitives.prompts import said

UPDATE = (
    "These are the answers of the other agents. Use them as advice: check them, then give your "
    "own updated answer to the task.\n\nTask: {task}"
)


@dataclass(frozen=True, kw_only=True)
class Debate:
    """Multi-agent debate (arXiv 2305.14325): 3 agents, 2 rounds, the majority of the last answers.

    The first round is independent; in each later one every agent goes on with its own
    conversation and reads the last answers of all others. Not as in the paper: its prompts; long
    debates are not summarised; only the task's own text asks for a form of the answer. Where the
    limits say greedy the first round samples all the same, or all agents were one.

    Attributes:
        agents, rounds: How many.
        temperature, top_p: Of the first round where the limits say greedy.
    """

    name: str = "llm_debate"
    about: str = "3 agents debate for 2 rounds by text, majority (arXiv 2305.14325)"
    agents: int = 3
    rounds: int = 2
    temperature: float = 0.7
    top_p: float = 1.0
    takes_extracts = True

    def __call__(
        self,
        engine: Engine,
        questions: Sequence[str],
        limits: Limits,
        seeds: Sequence[int],
        extracts: Sequence[Extract] | None = None,
    ) -> list[Output]:
        """Answer; see `Method`."""
        talk, n = Talk(engine, questions, limits, seeds, extracts), self.agents
        debater = talk.agent("debater")
        more = talk.diverse(self.temperature, self.top_p)
        asked = [line.question for line in talk.lines]
        last = talk.say(debater, talk.lines, asked, samples=n, **more)
        rows = [line for line in talk.lines for _ in range(n)]
        histories = [[_user(line.question)] for line in rows]
        for _ in range(1, self.rounds):
            for row, history in enumerate(histories):
                first = row - row % n
                others = [
                    (f"Agent {other - first + 1}", words(last[other]))
                    for other in range(first, first + n)
                    if other != row
                ]
                history.append({"role": "assistant", "content": words(last[row])})
                history.append(_user(said(UPDATE.format(task=rows[row].question), others)))
            last = talk.say(debater, rows, histories)
        return talk.end(elect_each(talk.lines, self.name, last), self.name)


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
