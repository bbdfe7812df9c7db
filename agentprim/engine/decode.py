"""Decoding: Hugging Face's own `generate` on a paged cache, and KVs that hold every token."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from agentprim.cache.hf import PagedCache
from agentprim.cache.kv import KV
from agentprim.engine.load import cache_name
from agentprim.engine.output import Output
from agentprim.engine.sampling import Sampling
from agentprim.engine.stream import Streamer

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
    eos = eos_ids(engine)
    cache = PagedCache(engine.model, kv=kvs)
    inputs = cache.inputs(ids)
    streamer = None
    if emit is not None and engine.tokenizer is not None:
        streamer = Streamer(engine.tokenizer, emit, set(eos))
    options = {"tokenizer": engine.tokenizer} if sampling.stop else {}
    with torch.random.fork_rng(enabled=sampling.seed is not None):
        if sampling.seed is not None:
            torch.manual_seed(sampling.seed)
        sequences = engine.model.generate(
            **inputs,
            generation_config=sampling.config(pad_id=engine.pad_id, eos_ids=eos),
            streamer=streamer,
            **options,
            **{cache_name(engine.model): cache},
        )
    width = inputs["input_ids"].shape[1]
    replies = [_until(line, eos) for line in sequences[:, width:].tolist()]
    # the last token of a reply was chosen but not read: the cache ends before it
    held = [len(kv) + len(new) for kv, new in zip(kvs, ids, strict=True)]
    read = [cache.kv(row)[: held[row] + len(reply) - 1] for row, reply in enumerate(replies)]
    rest = [[reply[-1], *_after(suffix, reply[-1])] for reply in replies]
    whole = engine.prefill(rest, read)
    return [
        Output(
            text(engine, reply, eos), kv=kv, ids=tuple(reply), reply_start=start,
            finish="stop" if reply[-1] in eos or _stopped(engine, reply, sampling) else "length",
        )
        for reply, kv, start in zip(replies, whole, held, strict=True)
    ]  # fmt: skip


def eos_ids(engine: "Engine") -> list[int]:
    """List the ids that end a reply: the model's own and the tokenizer's."""
    config = engine.model.generation_config.eos_token_id
    found = config if isinstance(config, list) else [config]
    found = [*found, getattr(engine.tokenizer, "eos_token_id", None)]
    return list(dict.fromkeys(i for i in found if i is not None))


def text(engine: "Engine", ids: Sequence[int], eos: Sequence[int]) -> str:
    """Turn a reply into text; ids separated by spaces where there is no tokenizer."""
    if engine.tokenizer is None:
        return " ".join(str(i) for i in ids if i not in eos)
    return engine.tokenizer.decode(list(ids), skip_special_tokens=True)


def _until(line: list[int], eos: list[int]) -> list[int]:
    """Cut a line after its first end token: what follows is padding."""
    end = next((i for i, token in enumerate(line) if token in eos), len(line) - 1)
    return line[: end + 1]


def _after(suffix: list[int], last: int) -> list[int]:
    """Drop the head of the suffix if the reply ends with it already."""
    return suffix[1:] if suffix and suffix[0] == last else suffix


def _stopped(engine: "Engine", reply: list[int], sampling: Sampling) -> bool:
    if not sampling.stop:
        return False
    return any(end in engine.tokenizer.decode(reply[-16:]) for end in sampling.stop)
