"""Replies: where each row of a batch stops speaking, and what can be said aloud already."""

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor
from transformers import StoppingCriteria


class Replies(StoppingCriteria):
    """Follow the replies of a batch token by token while `generate` runs.

    It runs in segments: one ends when enough of its rows have, and the next is without them.

    Attributes:
        ids: Reply of each row so far, its end token included; what follows is padding.
        ended: Whether a row has said an end token or a stop text.
        live: Rows of the segment, those that have ended in it included.
    """

    def __init__(
        self,
        rows: int,
        tokenizer,
        *,
        eos: Collection[int],
        stop: Sequence[str] = (),
        emit: Callable[[int, str], None] | None = None,
        share: float = 1.0,
    ) -> None:
        """Start without a word.

        Args:
            rows: Size of the batch.
            tokenizer: None where only ids are used.
            eos: Ids that end a reply.
            stop: Texts that end a reply.
            emit: Called as `emit(row, text)` with each new piece.
            share: A segment ends when this share of its rows has.
        """
        self.ids: list[list[int]] = [[] for _ in range(rows)]
        self.ended = [False] * rows
        self.live = list(range(rows))
        self._tokenizer, self._eos, self._stop, self._emit = tokenizer, set(eos), stop, emit
        self._sent, self._share = [""] * rows, share

    def __call__(self, input_ids: Tensor, scores, **options) -> Tensor:
        """Take the last column of `input_ids`; return which live rows are done, bool `[live]`."""
        for row, token in zip(self.live, input_ids[:, -1].tolist(), strict=True):
            if not self.ended[row]:
                self.ids[row].append(token)
                self.ended[row] = token in self._eos or self._said_stop(row)
                self._send(row, last=self.ended[row])
        done = [self.ended[row] for row in self.live]
        if sum(done) >= self._share * len(done):
            done = [True] * len(done)
        return torch.tensor(done, device=input_ids.device)

    def drop_ended(self) -> None:
        """Begin a segment without the rows that have ended."""
        self.live = [row for row in self.live if not self.ended[row]]

    def finish(self) -> None:
        """Say what was held back."""
        for row in range(len(self.ids)):
            self._send(row, last=True)

    def text(self, row: int) -> str:
        """Turn a reply into text, without special tokens; ids where there is no tokenizer."""
        if self._tokenizer is None:
            return " ".join(str(i) for i in self.ids[row] if i not in self._eos)
        return self._decode(row, skip_special_tokens=True)

    def _said_stop(self, row: int) -> bool:
        if not self._stop:
            return False
        said = self._decode(row, skip_special_tokens=False)
        return any(text in said for text in self._stop)

    def _send(self, row: int, *, last: bool) -> None:
        """Say what is new, unless it ends in the middle of a character."""
        if self._emit is None:
            return
        text, sent = self.text(row), self._sent[row]
        if (last or not text.endswith("\ufffd")) and len(text) > len(sent):
            self._emit(row, text[len(sent) :])
            self._sent[row] = text

    def _decode(self, row: int, *, skip_special_tokens: bool) -> str:
        # a clean-up would change what was said already
        return self._tokenizer.decode(
            self.ids[row],
            skip_special_tokens=skip_special_tokens,
            clean_up_tokenization_spaces=False,
        )
