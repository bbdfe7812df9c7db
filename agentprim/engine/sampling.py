"""Sampling: how the next token is chosen, checked before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformers import GenerationConfig


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Options of decoding.

    Attributes:
        max_new_tokens: Most tokens to generate.
        temperature: Softness of the choice; 0 takes the most likely token.
        top_p: Keep the smallest set of tokens with this probability; 1 keeps all.
        top_k: Keep this many tokens; 0 keeps all.
        min_p: Keep tokens with at least this share of the best one's probability; 0 keeps all.
        repetition_penalty: Above 1 makes tokens that were read or said less likely.
        seed: Makes sampling repeatable; None follows torch's global state.
        stop: Texts that end an answer.
    """

    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stop: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check every number."""
        _require(self.max_new_tokens >= 1, "max_new_tokens", "at least 1", self.max_new_tokens)
        _require(self.temperature >= 0, "temperature", "at least 0", self.temperature)
        _require(0 < self.top_p <= 1, "top_p", "above 0 and at most 1", self.top_p)
        _require(self.top_k >= 0, "top_k", "at least 0", self.top_k)
        _require(0 <= self.min_p <= 1, "min_p", "between 0 and 1", self.min_p)
        _require(self.repetition_penalty > 0, "repetition_penalty", "positive",
                 self.repetition_penalty)  # fmt: skip

    def config(self, *, pad_id: int, eos_ids: Sequence[int]) -> GenerationConfig:
        """Return the same options as `generate` takes them."""
        options = {}
        if self.temperature > 0:
            options = {"temperature": self.temperature, "top_p": self.top_p, "top_k": self.top_k}
            options |= {"min_p": self.min_p} if self.min_p else {}
        return GenerationConfig(
            max_new_tokens=self.max_new_tokens,
            do_sample=self.temperature > 0,
            repetition_penalty=self.repetition_penalty,
            pad_token_id=pad_id,
            eos_token_id=list(eos_ids) or None,
            stop_strings=list(self.stop) or None,
            use_cache=True,
            **options,
        )


def _require(condition: bool, argument: str, must: str, actual: object) -> None:
    if not condition:
        raise ValueError(f"{argument} must be {must}, got {actual}")
