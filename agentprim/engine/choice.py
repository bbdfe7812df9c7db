"""Choosing the next token: what `generate` leaves to chance, drawn by rows of their own."""

import torch
from torch import Tensor
from transformers import LogitsProcessor


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
