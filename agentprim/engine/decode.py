"""Decoding: Hugging Face's own `generate` on a paged cache, and KVs that hold every token."""

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

from transformers import GenerationConfig, StoppingCriteriaList

from agentprim.cache.hf import PagedCache
from agentprim.cache.kv import KV
from agentprim.engine.load import cache_name
from agentprim.engine.output import Output
from agentprim.engine.read import read
from agentprim.engine.replies import Replies
from agentprim.engine.sampling import Sampling

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine


def generate(
    engine: "Engine",
    ids: list[list[int]],
    kvs: list[KV],
    sampling: Sampling,
    *,
    emit: Callable[[int, str], None] | None,
    suffix: list[int],
) -> list[Output]:
    """Decode rows as one batch; see `Engine.generate`."""
    if sampling.stop and engine.tokenizer is None:
        raise ValueError(
            f"stop must be empty for an engine without tokenizer, got {sampling.stop!r}"
        )
    eos = eos_ids(engine)
    processors = sampling.processors([[*kv.ids, *new] for kv, new in zip(kvs, ids, strict=True)])
    replies = Replies(len(ids), engine.tokenizer, eos=eos, stop=sampling.stop, emit=emit)
    cache = PagedCache(engine.model, kv=kvs)
    # the same model without sampling habits of its own, which `generate` would mix in
    speaker = copy.copy(engine.model)
    speaker.generation_config = GenerationConfig()
    speaker.generate(
        **cache.inputs(ids),
        generation_config=sampling.config(pad_id=engine.pad_id, eos_ids=eos),
        logits_processor=processors,
        stopping_criteria=StoppingCriteriaList([replies]),
        **{cache_name(engine.model): cache},
    )
    replies.finish()
    starts = [len(kv) + len(new) for kv, new in zip(kvs, ids, strict=True)]
    # the last token of a reply was chosen but not read: the cache ends before it
    said = [
        cache.kv(row)[: start + len(reply) - 1]
        for row, (start, reply) in enumerate(zip(starts, replies.ids, strict=True))
    ]
    rest = [_ending(reply[-1], suffix, eos) for reply in replies.ids]
    whole, states = read(engine, rest, said)
    return [
        Output(
            replies.text(row),
            kv=whole[row],
            ids=tuple(replies.ids[row]),
            finish="stop" if replies.ended[row] else "length",
            reply_start=starts[row],
            hidden=states[row][0].clone(),
        )
        for row in range(len(ids))
    ]


def eos_ids(engine: "Engine") -> list[int]:
    """List the ids that end a reply: the model's own and the tokenizer's."""
    config = getattr(engine.model, "generation_config", None)
    found = getattr(config, "eos_token_id", None)
    found = found if isinstance(found, list) else [found]
    found = [*found, getattr(engine.tokenizer, "eos_token_id", None)]
    return list(dict.fromkeys(i for i in found if i is not None))


def _ending(last: int, suffix: list[int], eos: list[int]) -> list[int]:
    """Put a suffix behind the last token of a reply, which may be its first token already.

    An end token of another kind gives way to the suffix: it would end a text, not a turn.
    """
    if suffix and (suffix[0] == last or last in eos):
        return suffix
    return [last, *suffix]
