"""Tiny engines beside untouched twins of their models, built once each."""

import functools

import torch
from transformers import DynamicCache

from agentprim import Engine
from agentprim.engine.load import cache_name
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

END = 2  # of a turn, in the tiny tokenizer
B = [5, 9, 22, 33, 41, 7, 8]
A = [10, 11, 60, 13, 80, 15, 16, 4, 18, 19, 20]
Q = [21, 22, 3, 24, 25]


def engine(family: str = "qwen3") -> Engine:
    """Return the engine of a family, the same in all tests; it keeps no state between calls."""
    return _engine(family)


def twin(family: str = "qwen3"):
    """Return the model of a family as Hugging Face runs it."""
    return _twin(family)


@functools.cache
def _engine(family: str) -> Engine:
    return Engine(build(family), tiny_tokenizer(), pool_tokens=8192, page_size=4)


@functools.cache
def _twin(family: str):
    return build(family)


@torch.no_grad()
def plain_logits(model, ids: list[int]):
    """Run one text without a cache; return logits `[len(ids), vocab]`."""
    tokens = torch.tensor([ids])
    return model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits[0]


def plain_greedy(model, ids: list[int], count: int) -> list[int]:
    """Take the best next token again and again, without a cache, up to the end token."""
    text = list(ids)
    while len(text) < len(ids) + count and text[len(ids) :][-1:] != [END]:
        text.append(int(plain_logits(model, text)[-1].argmax()))
    return text[len(ids) :]


@torch.no_grad()
def plain_states(model, ids: list[int], embeddings=None):
    """Read ids on a plain cache, then single embeddings `[n, d]`; return the states `[*, d]`."""
    base, cache, states = model.base_model, DynamicCache(), []
    feeds = [{"input_ids": torch.tensor([ids])}]
    feeds += [
        {"inputs_embeds": one[None, None]} for one in (() if embeddings is None else embeddings)
    ]
    start = 0
    for feed in feeds:
        count = next(iter(feed.values())).shape[1]
        output = base(
            **feed,
            attention_mask=torch.ones(1, start + count, dtype=torch.long),
            position_ids=torch.arange(start, start + count)[None],
            use_cache=True,
            **{cache_name(base): cache},
        )
        states.append(output[0][0])
        start += count
    return torch.cat(states)
