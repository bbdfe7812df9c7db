"""Grammars: hold a local model to a JSON schema, token by token, with llguidance."""

import json
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from agentprim.engine import Engine


class Grammar:
    """A constraint of decoding: what may come next so that the reply follows a schema.

    Give a new one to each row. A reply that is whole may only end.
    """

    def __init__(self, engine: Engine, schema: dict, tokenizer=None) -> None:
        """Compile a schema for the engine's tokenizer.

        Args:
            engine: Whose vocabulary it is.
            schema: A JSON schema.
            tokenizer: What `read_tokenizer` gave before, which takes half a second.

        Raises:
            ImportError: llguidance is not installed.
            ValueError: The tokenizer cannot be read, or the schema cannot be held.
        """
        guidance = load()
        self._tokens = tokenizer or read_tokenizer(engine)
        grammar = guidance.LLMatcher.grammar_from_json_schema(
            json.dumps(schema), {"whitespace_flexible": False}
        )
        self._matcher = guidance.LLMatcher(self._tokens, grammar)
        if self._matcher.is_error():
            raise ValueError(
                f"schema must be one that can be held, got {self._matcher.get_error()}"
            )
        self._size, self._end = engine.vocab_size, engine.tokenizer.eos_token_id
        self._read: list[int] = []

    def __call__(self, reply: Sequence[int]) -> Tensor | None:
        """Return which tokens may follow a reply, bool `[vocab]`; None after its end."""
        if list(reply[: len(self._read)]) != self._read:
            self._matcher.reset()
            self._read = []
        for token in reply[len(self._read) :]:
            if not self._matcher.is_stopped():
                self._matcher.consume_token(token)
            self._read.append(token)
        if self._end in self._read:
            return None
        if self._matcher.is_stopped():  # it is whole, and may only end
            mask = torch.zeros(self._size, dtype=torch.bool)
            mask[self._end] = True
            return mask
        return self._mask()

    def _mask(self) -> Tensor:
        packed = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        bits = np.unpackbits(packed, count=self._size, bitorder="little")  # past its end zeros
        return torch.from_numpy(bits).bool()


def read_tokenizer(engine: Engine):
    """Read an engine's tokenizer for grammars.

    Raises:
        ImportError: llguidance is not installed.
        ValueError: The tokenizer is of a kind that llguidance does not know.
    """
    load()
    from llguidance.hf import from_tokenizer

    return from_tokenizer(engine.tokenizer, n_vocab=engine.vocab_size)


def load():
    """Import llguidance.

    Raises:
        ImportError: It is not installed.
    """
    try:
        import llguidance
    except ImportError:
        raise ImportError(
            "a local organizer must have llguidance, got none; pip install agentprim[organizer]"
        ) from None
    return llguidance
