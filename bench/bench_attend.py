"""Attend from one new token to 4,096 tokens at every layer: as one span, as several, and dense."""

import pytest
import torch

import agentprim_kernels as ops
from bench.pools import DIM, DTYPE, HEADS, LAYERS, close, pool, turned

TOKENS = 4096


def dense(p: dict) -> list[torch.Tensor]:
    """Gather keys and values `[layers, heads, tokens, dim]`, keys turned to where they stand."""
    keys, values = (
        p[name][:, p["page_table"].long()].transpose(1, 2).flatten(2, 3)
        for name in ("k_cache", "v_cache")
    )
    count = len(p["spans"])
    parts = keys.chunk(count, dim=2)
    keys = torch.cat([turned(part, p["rotation"][:, n]) for n, part in enumerate(parts)], dim=2)
    return [keys.contiguous(), values.contiguous()]


@pytest.mark.parametrize("spans", [1, 8, 64])
def test_attend(measure, spans):
    p, query, rest = case(spans)

    def attend(layer: int, impl: str):
        return ops.attend(
            query, p["k_cache"][layer], p["v_cache"][layer], p["page_table"], p["spans"],
            p["rotation"][layer], *rest, scale=DIM**-0.5, impl=impl,
        )[0]  # fmt: skip

    def check():
        for layer in range(LAYERS):
            close(attend(layer, "cpp"), attend(layer, "reference"))

    moved = p["k_cache"].nbytes + p["v_cache"].nbytes
    work = lambda: [attend(layer, "cpp") for layer in range(LAYERS)]  # noqa: E731
    measure(work, check=check, moved=moved, tokens=TOKENS, spans=spans, layers=LAYERS)


def test_attend_dense_by_torch(measure):
    p, query, rest = case(8)
    keys, values = dense(p)

    def sdpa(layer: int):
        return torch.nn.functional.scaled_dot_product_attention(
            query, keys[layer][None], values[layer][None], scale=DIM**-0.5, enable_gqa=True
        )

    def check():
        want = ops.attend(
            query, p["k_cache"][0], p["v_cache"][0], p["page_table"], p["spans"],
            p["rotation"][0], *rest, scale=DIM**-0.5, impl="reference",
        )[0]  # fmt: skip
        close(sdpa(0), want)

    work = lambda: [sdpa(layer) for layer in range(LAYERS)]  # noqa: E731
    moved = keys.nbytes + values.nbytes
    measure(work, check=check, rounds=5, moved=moved, tokens=TOKENS, layers=LAYERS)


def case(spans: int):
    """Return a pool, a query `[1, heads, 1, dim]`, and span starts with the query's position."""
    p = pool(TOKENS, spans)
    source = torch.Generator().manual_seed(2)
    query = torch.randn(1, HEADS, 1, DIM, generator=source).to(DTYPE)
    starts, at = torch.tensor([0, spans]).int(), torch.tensor([[TOKENS]]).int()
    return p, query, (starts, at)
