"""Decoding: Hugging Face's own `generate` on a paged cache, and KVs that hold every token.

Rows that have ended leave the batch: they cost neither arithmetic nor pages for padding.
"""

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

from transformers import GenerationConfig, StoppingCriteriaList

from agentprim.cache.hf import PagedCache
from agentprim.cache.kv import KV
from agentprim.engine.load import cache_name
from agentprim.engine.output import Output
from agentprim.engine.prefill import is_ragged, prefill
from agentprim.engine.read import reach, read
from agentprim.engine.replies import Replies
from agentprim.engine.sampling import Sampling

if TYPE_CHECKING:
    from agentprim.engine.engine import Engine

DROP = 0.5  # bounds the segments by log2(rows); a quarter, or every row at once, is no faster


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
    prompts = [[*kv.ids, *new] for kv, new in zip(kvs, ids, strict=True)]
    replies = Replies(
        len(ids), engine.tokenizer, eos=eos, stop=sampling.stop, emit=emit,
        share=_share(engine, prompts),
    )  # fmt: skip
    said = _speak(engine, ids, kvs, prompts, sampling, replies)
    replies.finish()
    rest = [_ending(reply[-1], suffix, eos) for reply in replies.ids]
    whole, states = read(engine, rest, said)
    return [
        Output(
            replies.text(row),
            kv=whole[row],
            ids=tuple(replies.ids[row]),
            finish="stop" if replies.ended[row] else "length",
            reply_start=len(prompts[row]),
            hidden=states[row][0].clone(),
        )
        for row in range(len(ids))
    ]


def _speak(
    engine: "Engine",
    ids: list[list[int]],
    kvs: list[KV],
    prompts: list[list[int]],
    sampling: Sampling,
    replies: Replies,
) -> list[KV]:
    """Fill the replies, in segments without the rows that have ended before.

    Returns:
        For each row a KV up to the last token of its reply, which was chosen but not read.
    """
    processors = sampling.processors(prompts, replies)
    # the same model without sampling habits of its own, which `generate` would mix in
    speaker = copy.copy(engine.model)
    speaker.generation_config = GenerationConfig()
    new, held, said = list(ids), list(kvs), 0
    if _reads_ahead(engine, ids, kvs):
        # `generate` would pad them; it gets the last token of each
        held, new = prefill(engine, [row[:-1] for row in ids], kvs), [row[-1:] for row in ids]
    while replies.live and said < sampling.max_new_tokens:
        cache = PagedCache(engine.model, kv=[held[row] for row in replies.live])
        speaker.generate(
            **cache.inputs([new[row] for row in replies.live]),
            generation_config=sampling.config(
                pad_id=engine.pad_id, eos_ids=eos_ids(engine), said=said
            ),
            logits_processor=processors,
            stopping_criteria=StoppingCriteriaList([replies]),
            **{cache_name(engine.model): cache},
        )
        for line, row in enumerate(replies.live):
            new[row] = replies.ids[row][-1:]
            held[row] = cache.kv(line)[: len(prompts[row]) + len(replies.ids[row]) - 1]
        said = max(map(len, replies.ids))
        replies.drop_ended()
    return held


def _reads_ahead(engine: "Engine", ids: list[list[int]], kvs: list[KV]) -> bool:
    """Tell whether all but the last token of each row is read before `generate` runs."""
    switch = engine.pool.layout.switch
    if switch is not None and reach(kvs, map(len, ids)) > switch:
        return False  # what reaches a switch is read in one pass, all of it by the same tables
    return is_ragged(engine, ids) and min(map(len, ids)) > 1


def _share(engine: "Engine", prompts: list[list[int]]) -> float:
    """Tell which share of the rows must have ended before the others go on without them."""
    switch = engine.pool.layout.switch
    # beyond a switch the farthest row decides by which tables all keys are turned: it stays
    return 1.0 if switch is not None and max(map(len, prompts)) > switch else DROP


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
