"""Sampling: how the next token is chosen, checked before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformers import (
    GenerationConfig,
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from agentprim.engine.batch import generators, read_seeds
from agentprim.engine.choice import Constraint, Draw, Only, Penalty
from agentprim.engine.replies import Replies


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Options of decoding. What a model's own generation_config prefers is not looked at.

    Attributes:
        max_new_tokens: Most tokens to generate.
        temperature: Softness of the choice; 0 takes the most likely token.
        top_p: Keep the smallest set of tokens with this probability; 1 keeps all.
        top_k: Keep this many tokens; 0 keeps all.
        min_p: Keep tokens with at least this share of the best one's probability; 0 keeps all.
        repetition_penalty: Above 1 makes tokens that were read or said less likely.
        seed: Makes sampling repeatable: row i of a batch draws with `seed + i`, or a list has one
            for each row. None follows torch's global state.
        stop: A text, or texts, that end an answer, which still contains them.
        constraint: Which tokens may come next: called with the ids of a reply so far, it returns
            a mask, bool `[vocab]`, or None where all may; or a list of such, one for each row.
    """

    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | Sequence[int] | None = None
    stop: str | Sequence[str] = ()
    constraint: Constraint | Sequence[Constraint | None] | None = None

    def __post_init__(self) -> None:
        """Check every number."""
        if isinstance(self.stop, str):
            object.__setattr__(self, "stop", (self.stop,))
        _require(self.max_new_tokens >= 1, "max_new_tokens", "at least 1", self.max_new_tokens)
        _require(self.temperature >= 0, "temperature", "at least 0", self.temperature)
        _require(0 < self.top_p <= 1, "top_p", "above 0 and at most 1", self.top_p)
        _require(self.top_k >= 0, "top_k", "at least 0", self.top_k)
        _require(0 <= self.min_p <= 1, "min_p", "between 0 and 1", self.min_p)
        _require(self.repetition_penalty > 0, "repetition_penalty", "positive",
                 self.repetition_penalty)  # fmt: skip
        _require(all(isinstance(one, str) and one for one in self.stop), "stop",
                 "texts that are not empty", self.stop)  # fmt: skip

    def config(self, *, pad_id: int, eos_ids: Sequence[int], said: int = 0) -> GenerationConfig:
        """Return what `generate` needs besides `processors`: it takes the best token left.

        Args:
            pad_id: What rows that have ended go on with.
            eos_ids: Ids that end a reply.
            said: Tokens that were generated before.
        """
        return GenerationConfig(
            max_new_tokens=self.max_new_tokens - said,
            do_sample=False,
            num_beams=1,
            pad_token_id=pad_id,
            eos_token_id=list(eos_ids) or None,
            use_cache=True,
        )

    def processors(self, prompts: list[list[int]], replies: Replies) -> LogitsProcessorList:
        """Return the steps that change scores, in Hugging Face's order, the draw last.

        Args:
            prompts: What each row has read.
            replies: What each row says, and which rows are live.

        Raises:
            TypeError, ValueError: `seed` does not fit the rows.
        """
        seeds, steps = read_seeds(self.seed, len(prompts)), LogitsProcessorList()
        if self.constraint is not None:
            steps.append(Only(self.constraints(len(prompts)), replies))
        if self.repetition_penalty != 1:
            steps.append(Penalty(self.repetition_penalty, prompts, replies))
        if self.temperature == 0:
            return steps
        if self.temperature != 1:
            steps.append(TemperatureLogitsWarper(float(self.temperature)))
        if self.top_k:
            steps.append(TopKLogitsWarper(self.top_k))
        if self.top_p < 1:
            steps.append(TopPLogitsWarper(float(self.top_p)))
        if self.min_p:
            steps.append(MinPLogitsWarper(self.min_p))
        steps.append(Draw(generators(seeds, len(prompts)), replies))
        return steps

    def constraints(self, rows: int) -> list[Constraint | None]:
        """Give each row its constraint.

        Raises:
            ValueError: There is not one for each row.
        """
        found = self.constraint
        found = [found] * rows if found is None or callable(found) else list(found)
        _require(len(found) == rows, "constraint", f"one for each of {rows} rows", len(found))
        return found


def _require(condition: bool, argument: str, must: str, actual: object) -> None:
    if not condition:
        raise ValueError(f"{argument} must be {must}, got {actual}")
