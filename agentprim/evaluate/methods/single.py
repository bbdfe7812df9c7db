"""One agent: asked plainly, asked to think step by step, or asked several times."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line, diverse
from agentprim.evaluate.methods.majority import elect
from agentprim.evaluate.methods.talk import Talk

PLAIN = "{task}"
STEPS = "{task}\n\nThink step by step, then give the final answer."


@dataclass(frozen=True, kw_only=True)
class Single(Talk):
    """Ask one agent without a system prompt, once or several times, and take the majority.

    Chain of thought (arXiv 2205.11916): the paper asks a second time to cut the answer out of the
    thought, and the older arXiv 2201.11903 shows worked examples; here one call does both.
    Self-consistency (arXiv 2203.11171): the paper takes up to 40 samples with worked examples.

    Attributes:
        prompt: How the task is asked.
        samples: How often; above 1, the majority of extracted answers is taken.
        temperature, top_p: Of several samples where the limits say greedy.
    """

    name: str = "single"
    about: str = "one agent, asked once"
    prompt: str = PLAIN
    samples: int = 1
    temperature: float = 0.7
    top_p: float = 1.0

    def cast(self) -> dict[str, None]:
        """Return the one role; see `Talk`."""
        return {"solver": None}

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        turn = self.prompt.format(task=line.question)
        if self.samples == 1:
            return line.say("solver", turn)
        more = diverse(line.limits, self.temperature, self.top_p)
        return elect(line, self.name, line.samples("solver", turn, self.samples, **more))
