"""Streaming: hand out text as soon as its tokens are certain, row by row."""

from collections.abc import Callable

from torch import Tensor
from transformers.generation.streamers import BaseStreamer


class Streamer(BaseStreamer):
    """Turn the tokens of a batch into pieces of text.

    Text that ends in the middle of a character is held back until the character is whole.
    """

    def __init__(self, tokenizer, emit: Callable[[int, str], None], eos_ids: set[int]) -> None:
        """Call `emit(row, text)` for each new piece."""
        self._tokenizer, self._emit, self._eos = tokenizer, emit, eos_ids
        self._ids: list[list[int]] | None = None
        self._sent: list[str] = []
        self._done: list[bool] = []

    def put(self, value: Tensor) -> None:
        """Take one token of each row; the first call brings the prompt and is skipped."""
        if self._ids is None:
            rows = len(value)
            self._ids, self._sent, self._done = (
                [[] for _ in range(rows)],
                [""] * rows,
                [False] * rows,
            )
            return
        for row, token in enumerate(value.flatten().tolist()):
            if self._done[row]:
                continue
            self._ids[row].append(token)
            self._done[row] = token in self._eos
            self._send(row, last=self._done[row])

    def end(self) -> None:
        """Send what was held back."""
        for row in range(len(self._ids or ())):
            self._send(row, last=True)

    def _send(self, row: int, *, last: bool) -> None:
        text = self._tokenizer.decode(self._ids[row], skip_special_tokens=True)
        if text.endswith("\ufffd") and not last:
            return
        if len(text) > len(self._sent[row]):
            self._emit(row, text[len(self._sent[row]) :])
            self._sent[row] = text
