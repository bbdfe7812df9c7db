"""Agents on a tiny engine, and what a whole text would say where they hand over caches."""

import torch

from agentprim import Agent
from tests.engine.making import engine

SHORT = {"max_new_tokens": 5}


def agent(name: str, family: str = "qwen3", **options) -> Agent:
    """Make a new agent, whose system prompt names it."""
    return Agent(engine(family), f"You are {name}.", name=name, **options)


def turn(one: Agent, question: str) -> list[int]:
    """Return the ids that a question adds."""
    return one.chat.turn([{"role": "user", "content": question}])


def opening(one: Agent) -> list[int]:
    """Return the ids that open a reply, which an agent that only reads takes back."""
    ids = turn(one, "?")
    return ids[one.chat.reply_begin(ids, len(ids)) :]


def count_tokens(model) -> tuple[list[int], object]:
    """Count tokens of each forward pass of single rows; return the counts and the hook."""
    counts: list[int] = []

    def count(module, args, kwargs):
        given = kwargs.get("input_ids")
        given = kwargs["inputs_embeds"] if given is None else given
        mask = kwargs.get("attention_mask")
        new = given.shape[1]
        counts.append(int(mask[:, -new:].sum()) if mask is not None else given.shape[0] * new)

    return counts, model.base_model.register_forward_pre_hook(count, with_kwargs=True)


def same(a, b, atol=1e-4) -> None:
    """Check that two tensors are equal up to rounding."""
    torch.testing.assert_close(a, b, atol=atol, rtol=0)
