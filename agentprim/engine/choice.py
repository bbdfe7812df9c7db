"""Choosing the next token: what `generate` leaves to chance, drawn by rows of their own."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import LogitsProcessor

Constraint = Callable[[Sequence[int]], Tensor | None]


class Only(LogitsProcessor):
    """Rule out tokens that a row's constraint does not allow."""

    def __init__(self, constraints: Sequence[Constraint | None]) -> None:
        """Take one constraint a row; None allows everything."""
        self._constraints, self._start = constraints, None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Change scores `[batch, vocab]`.

        Raises:
            ValueError: A constraint allows nothing, or has another vocabulary.
        """
        if self._start is None:
            self._start = input_ids.shape[1]
        scores = scores.clone()
        for row, allowed in enumerate(self._constraints):
            mask = None if allowed is None else allowed(input_ids[row, self._start :].tolist())
            if mask is None:
                continue
            if mask.shape != scores[row].shape or not mask.any():
                raise ValueError(
                    f"constraint must allow some of {scores.shape[1]} tokens, got a mask of "
                    f"{tuple(mask.shape)} that allows {int(mask.sum())}"
                )
            scores[row, ~mask.to(scores.device)] = -torch.inf
        return scores


class Penalty(LogitsProcessor):
    """Make tokens that a row has read or said less likely. Padding counts for nothing."""

    def __init__(self, penalty: float, prompts: list[list[int]]) -> None:
        """Know what each row has read; ids below 0 stand for latent steps and are left out."""
        self._penalty, self._prompts = penalty, prompts
        self._seen: Tensor | None = None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Change scores `[batch, vocab]`."""
        if self._seen is None:
            self._seen = torch.zeros_like(scores, dtype=torch.bool)
            for row, ids in enumerate(self._prompts):
                self._seen[row, [i for i in ids if i >= 0]] = True
        else:
            self._seen.scatter_(1, input_ids[:, -1:], True)
        lower = torch.where(scores < 0, scores * self._penalty, scores / self._penalty)
        return torch.where(self._seen, lower, scores)


class Draw(LogitsProcessor):
    """Draw one token of each row, with a generator of its own, and rule out all others."""

    def __init__(self, generators: list[torch.Generator | None]) -> None:
        """Take one generator a row; None follows torch's global state."""
        self._generators = generators

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Change scores `[batch, vocab]` to 0 for the token drawn and -inf elsewhere."""
        below = torch.softmax(scores.float(), dim=-1).cumsum(-1)
        numbers = torch.stack([torch.rand(1, generator=one) for one in self._generators])
        # the first token whose cumulated probability is beyond the number
        drawn = (below <= numbers.to(below.device) * below[:, -1:]).sum(-1, keepdim=True)
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn, 0.0)
