"""LLM-Debate: agents answer, read each other's answers, and answer again."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line, diverse, words
from agentprim.evaluate.methods.majority import elect
from agentprim.evaluate.methods.talk import Talk
from agentprim.primitives.prompts import said

UPDATE = (
    "These are the answers of the other agents. Use them as advice: check them, then give your "
    "own updated answer to the task.\n\nTask: {task}"
)


@dataclass(frozen=True, kw_only=True)
class Debate(Talk):
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

    def cast(self) -> dict[str, None]:
        """Return the one role that all agents have; see `Talk`."""
        return {"debater": None}

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        more = diverse(line.limits, self.temperature, self.top_p)
        last = line.samples("debater", line.question, self.agents, **more)
        histories = [[_user(line.question)] for _ in last]
        for _ in range(1, self.rounds):
            speeches = [(f"Agent {number}", words(out)) for number, out in enumerate(last, 1)]
            for number, history in enumerate(histories):
                others = speeches[:number] + speeches[number + 1 :]
                history.append({"role": "assistant", "content": speeches[number][1]})
                history.append(_user(said(UPDATE.format(task=line.question), others)))
            last = line.say_each([("debater", history) for history in histories])
        return elect(line, self.name, last)


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
