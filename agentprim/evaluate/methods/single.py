"""One agent: asked plainly, asked to think step by step, or asked several times."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Extract, Limits
from agentprim.evaluate.methods.majority import elect_each
from agentprim.evaluate.methods.talk import Talk

PLAIN = "{task}"
STEPS = "{task}\n\nThink step by step, then give the final answer."


@dataclass(frozen=True, kw_only=True)
class Single:
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
        talk = Talk(engine, questions, limits, seeds, extracts)
        more = talk.diverse(self.temperature, self.top_p) if self.samples > 1 else {}
        turns = [self.prompt.format(task=line.question) for line in talk.lines]
        found = talk.say(talk.agent("solver"), talk.lines, turns, samples=self.samples, **more)
        if self.samples > 1:
            found = elect_each(talk.lines, self.name, found)
        return talk.end(found, self.name)
