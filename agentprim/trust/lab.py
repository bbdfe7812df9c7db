"""The lab: senders that have read their notes and receivers with their system prompts."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from agentprim.cache.join import concatenate
from agentprim.cache.kv import KV
from agentprim.engine import Engine
from agentprim.engine.chat import Chat
from agentprim.engine.decode import eos_ids
from agentprim.engine.read import read
from agentprim.engine.repair import Repair, repair
from agentprim.engine.way import Way
from agentprim.trust.items import Item, Note
from agentprim.trust.receivers import receiver_prompt


@dataclass(frozen=True, kw_only=True)
class Sender:
    """An agent that has read its note and answered.

    Attributes:
        ids: Everything that it read and said.
        starts: For each `carry`, the first token that travels; for `"front"`, to the very front.
        kv: Its cache.
    """

    ids: list[int]
    starts: dict[str, int]
    kv: KV

    def part(self, carry: str) -> list[int]:
        """Return the ids that travel."""
        return self.ids[self.starts[carry] :]


@dataclass(frozen=True, kw_only=True)
class Receiver:
    """An agent that is going to be asked: its system prompt, and the cache of it."""

    ids: list[int]
    kv: KV


@dataclass(frozen=True, kw_only=True)
class Stand:
    """What a receiver stands on after a hand-over, and what it still has to read.

    Attributes:
        kv: What is cached.
        lead: Ids to read before the question.
        recomputed: Tokens of the senders that were computed again.
    """

    kv: KV
    lead: list[int]
    recomputed: int = 0


class Lab:
    """Agents of one engine, made as `Agent` makes them; counts every token that is run.

    Attributes:
        engine: The model of all of them.
        chat: Its template.
        tokens: Tokens run through the model so far.
    """

    def __init__(self, engine: Engine) -> None:
        """Start with an engine that has a tokenizer."""
        self.engine, self.chat, self.tokens = engine, Chat(engine.tokenizer), 0
        self._receivers: dict[tuple[int, int], Receiver] = {}

    def receiver(self, tokens: int, variant: int) -> Receiver:
        """Return a receiver with a system prompt of about so many tokens, read once."""
        key = tokens, variant
        if key not in self._receivers:
            text = receiver_prompt(tokens, lambda s: len(self.chat.system(s)), variant=variant)
            ids = self.chat.system(text)
            (kv,) = self.prefill([ids])
            self._receivers[key] = Receiver(ids=ids, kv=kv)
        return self._receivers[key]

    def senders(self, item: Item) -> list[Sender]:
        """Let each sender of an item read its note and say its reply."""
        written = [self._script(note) for note in item.notes]
        kvs = self.prefill([ids for ids, _ in written])
        return [
            Sender(ids=ids, starts=starts, kv=kv)
            for (ids, starts), kv in zip(written, kvs, strict=True)
        ]

    def question(self, item: Item) -> list[int]:
        """Return the ids of the question's turn and of the first words of the answer."""
        turn = self.chat.turn([{"role": "user", "content": item.fact.question}])
        return [*turn, *self.engine.encode(item.fact.cue)]

    def stand(self, way: Way, receiver: Receiver, senders: Sequence[Sender]) -> Stand:
        """Hand over."""
        return self.stands(way, [receiver], senders)[0]

    def stands(
        self, way: Way, receivers: Sequence[Receiver], senders: Sequence[Sender]
    ) -> list[Stand]:
        """Hand over to each receiver; with `"text"` what the senders said is still to be read."""
        if way.join == "none":
            return [Stand(kv=receiver.kv, lead=[]) for receiver in receivers]
        if way.join == "text":
            lead = [i for sender in senders for i in sender.part(way.carry)]
            return [Stand(kv=receiver.kv, lead=lead) for receiver in receivers]
        parts = [sender.kv[sender.starts[way.carry] :] for sender in senders]
        options = {"offsets": way.offsets, "rotate": way.rotate}
        if way.join == "append":
            front = senders[0].kv[senders[0].starts["front"] :]
            kv = concatenate([front, *parts[1:]], **options)
            return [Stand(kv=kv, lead=self.chat.without_bos(one.ids)) for one in receivers]
        kvs = [concatenate([receiver.kv, *parts], **options) for receiver in receivers]
        if way.join == "relocate":
            return [Stand(kv=kv, lead=[]) for kv in kvs]
        done = repair(self.engine, kvs, Repair(first=way.first, share=way.share))
        self.tokens += sum(len(one.recomputed) for one in done)
        return [Stand(kv=one.kv, lead=[], recomputed=len(one.recomputed)) for one in done]

    def prefill(self, rows: list[list[int]], kvs: list[KV] | None = None) -> list[KV]:
        """Read rows as one batch."""
        self.tokens += sum(map(len, rows))
        return self.engine.prefill(rows, kvs)

    def follow(self, rows: list[list[int]], kvs: list[KV], counts: list[int]) -> list[Tensor]:
        """Read rows as one batch; return the logits of the last `counts` tokens of each."""
        self.tokens += sum(map(len, rows))
        _, states = read(self.engine, rows, kvs)
        last = [state[-count:] for state, count in zip(states, counts, strict=True)]
        return list(self.engine.logits(torch.cat(last)).split(counts))

    def continue_(self, kvs: list[KV], tokens: int) -> list[list[int]]:
        """Say what each KV would be followed by, greedily, up to the end of a turn."""
        firsts = self.engine.logits(torch.stack([kv.hidden for kv in kvs])).argmax(-1).tolist()
        if tokens == 1:
            return [[first] for first in firsts]
        eos = eos_ids(self.engine)
        going = [row for row, first in enumerate(firsts) if first not in eos]
        said = [[first] for first in firsts]
        if going:
            outputs = self.engine.generate(
                [[firsts[row]] for row in going], [kvs[row] for row in going],
                max_new_tokens=tokens - 1,
            )  # fmt: skip
            for row, output in zip(going, outputs, strict=True):
                said[row] += output.ids
                self.tokens += len(output.ids)
        return said

    def _script(self, note: Note) -> tuple[list[int], dict[str, int]]:
        """Write what a sender reads and says; return its ids and where each `carry` begins."""
        system = self.chat.system(note.system)
        asked = self.chat.turn([{"role": "user", "content": note.text}])
        said = self.engine.encode(note.reply)
        ids = [*system, *asked, *said, *self.chat.close()]
        starts = {
            "front": 0,
            "all": len(system) - len(self.chat.without_bos(system)),
            "no_system": len(system),
            "reply": self.chat.reply_begin(ids, len(system) + len(asked)),
        }
        return ids, starts
