"""Two readers of the same material: one gets it as text, the other as a cache."""

import re
from collections.abc import Sequence

from agentprim.agent import Agent
from agentprim.engine import Engine, Output
from agentprim.engine.chat import Chat
from agentprim.evaluate.base import Limits
from agentprim.trust.receivers import receiver_prompt

SENDER = "You read notes for a colleague, who will answer questions about them."
READER = "You answer questions from notes in a few words and never guess."
_NAME = re.compile(r"reader_(kv|text)(?:-(\d+))?")
NAMES = ("reader_text", "reader_kv")


class Reader:
    """A reader of material that another agent has read.

    `reader_text` finds it written in front of its question; `reader_kv` gets the cache of a sender
    that prefilled it, relocated behind its own system prompt. Both have the same system prompt
    and are asked the same. A name such as `reader_kv-500` gives the reader a system prompt of about
    500 tokens, since what a hand-over costs in quality depends on it.

    Attributes:
        name: As on the command line.
        about: One line.
        comm: `"kv"` or `"text"`.
        twin: The text twin of `reader_kv`; None for a text twin.
        tokens: Length of the reader's system prompt; None for the short one.
        takes_material: True: called with what the sender has read.
    """

    takes_material = True

    def __init__(self, comm: str, tokens: int | None = None) -> None:
        """Define a reader."""
        suffix = "" if tokens is None else f"-{tokens}"
        self.comm, self.tokens, self.name = comm, tokens, f"reader_{comm}{suffix}"
        self.twin = f"reader_text{suffix}" if comm == "kv" else None
        how = "a relocated cache" if comm == "kv" else "text in the question"
        long = "" if tokens is None else f", system prompt of about {tokens} tokens"
        self.about = f"reads what another agent hands over as {how}{long}"

    def __call__(
        self,
        engine: Engine,
        questions: Sequence[str],
        limits: Limits,
        seeds: Sequence[int],
        materials: Sequence[str],
    ) -> list[Output]:
        """Answer each question about the material of the same row; it is not in the question.

        Returns:
            One `Output` a question; its usage holds the sender's, too.

        Raises:
            ValueError: A row has no material.
        """
        for row, material in enumerate(materials):
            if not material.strip():
                raise ValueError(f"materials must have text in each row, got none in row {row}")
        reader = Agent(
            engine, system=self._prompt(engine), name="reader", temperature=limits.temperature,
            top_p=limits.top_p, max_new_tokens=limits.max_new_tokens,
        )  # fmt: skip
        if self.comm == "text":
            turns = [f"{m}\n\n{q}" for m, q in zip(materials, questions, strict=True)]
            return reader(turns, seed=list(seeds))
        sender = Agent(engine, system=SENDER, name="sender")
        read = sender.think(list(materials), inner="prefill")
        outputs = reader(list(questions), context=[[one] for one in read], seed=list(seeds))
        return [
            out.but(usage=one.usage + out.usage, trace=(*one.trace, *out.trace))
            for one, out in zip(read, outputs, strict=True)
        ]

    def _prompt(self, engine: Engine) -> str:
        if self.tokens is None:
            return READER
        chat = Chat(engine.tokenizer)
        return receiver_prompt(self.tokens, lambda text: len(chat.system(text)))


def reader(name: str) -> Reader | None:
    """Return the reader of a name; None for a name of something else."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    return Reader(found[1], None if found[2] is None else int(found[2]))
