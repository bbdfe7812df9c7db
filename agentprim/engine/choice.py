"""Choosing the next token: what `generate` leaves to chance, drawn by rows of their own.

Scores have a line for each row of `replies.live`; what is known is kept for all rows.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import LogitsProcessor

from agentprim.engine.replies import Replies

Constraint = Callable[[Sequence[int]], Tensor | None]


class Only(LogitsProcessor):
    """Rule out tokens that a row's constraint does not allow, until the row has ended."""

    def __init__(self, constraints: Sequence[Constraint | None], replies: Replies) -> None:
        """Take one constraint a row; None allows everything."""
        self._constraints, self._replies = constraints, replies

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Change scores `[live rows, vocab]`.

        Raises:
            ValueError: A constraint allows nothing, or has another vocabulary.
        """
        scores = scores.clone()
        for line, row in enumerate(self._replies.live):
            allowed = self._constraints[row]
            if allowed is None or self._replies.ended[row]:
                continue
            mask = allowed(list(self._replies.ids[row]))
            if mask is None:
                continue
            if mask.shape != scores[line].shape or not mask.any():
                raise ValueError(
                    f"constraint must allow some of {scores.shape[1]} tokens, got a mask of "
                    f"{tuple(mask.shape)} that allows {int(mask.sum())}"
                )
            scores[line, ~mask.to(scores.device)] = -torch.inf
        return scores


class Penalty(LogitsProcessor):
    """Make tokens that a row has read or said less likely. Padding counts for nothing."""

    def __init__(self, penalty: float, prompts: list[list[int]], replies: Replies) -> None:
        """Know what each row has read; ids below 0 stand for latent steps and are left out."""
        self._penalty, self._prompts, self._replies = penalty, prompts, replies
        self._seen: Tensor | None = None  # bool `[rows, vocab]`

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Change scores `[live rows, vocab]`."""
        live = self._replies.live
        if self._seen is None:
            shape = len(self._prompts), scores.shape[1]
            self._seen = torch.zeros(shape, dtype=torch.bool, device=scores.device)
            for row, ids in enumerate(self._prompts):
                self._seen[row, [i for i in ids if i >= 0]] = True
        self._seen[live, input_ids[:, -1]] = True
        lower = torch.where(scores < 0, scores * self._penalty, scores / self._penalty)
        return torch.where(self._seen[live], lower, scores)


class Draw(LogitsProcessor):
    """Draw one token of each row, with a generator of its own, and rule out all others."""

    def __init__(self, generators: list[torch.Generator | None], replies: Replies) -> None:
        """Take one generator a row; None follows torch's global state."""
        self._generators, self._replies = generators, replies

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Change scores `[live rows, vocab]` to 0 for the token drawn and -inf elsewhere."""
        below = torch.softmax(scores.float(), dim=-1).cumsum(-1)
        sources = [self._generators[row] for row in self._replies.live]
        numbers = torch.stack([torch.rand(1, generator=one) for one in sources])
        # the first token whose cumulated probability is beyond the number
        drawn = (below <= numbers.to(below.device) * below[:, -1:]).sum(-1, keepdim=True)
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn, 0.0)
