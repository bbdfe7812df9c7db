"""Caches and span tables of the size of a real model's, for the ops alone."""

import torch
from torch import Tensor

import agentprim_kernels as ops

LAYERS, KV_HEADS, HEADS, DIM, PAGE_SIZE = 8, 8, 32, 128, 16
DTYPE = torch.bfloat16


def pool(tokens: int, num_spans: int = 1) -> dict[str, Tensor]:
    """Return random caches, pages in random order, and equal spans that have all moved."""
    source = torch.Generator().manual_seed(0)
    shape = (LAYERS, tokens // PAGE_SIZE, KV_HEADS, PAGE_SIZE, DIM)
    k_cache, v_cache = (torch.randn(shape, generator=source).to(DTYPE) for _ in range(2))
    each = tokens // num_spans
    spans = [[n * each // PAGE_SIZE, 0, each, n * each, -1] for n in range(num_spans)]
    return {
        "k_cache": k_cache,
        "v_cache": v_cache,
        "page_table": torch.randperm(shape[1], generator=source).int(),
        "spans": torch.tensor(spans, dtype=torch.int32),
        "rotation": ops.rotation([7 * n + 1 for n in range(num_spans)], frequencies()),
    }


def frequencies() -> Tensor:
    """Return inv_freq `[LAYERS, DIM / 2]`."""
    return (1e6 ** (-torch.arange(0, DIM, 2) / DIM)).expand(LAYERS, -1)


def turned(keys: Tensor, rotation: Tensor) -> Tensor:
    """Turn keys `[layers, ..., dim]` by rows `[layers, 2, dim / 2]` in plain torch, fp32 inside."""
    cos, sin = (
        rotation[:, i].repeat(1, 2).view(len(rotation), *[1] * (keys.ndim - 2), -1) for i in (0, 1)
    )
    first, second = keys.float().chunk(2, dim=-1)
    return (keys.float() * cos + torch.cat((-second, first), -1) * sin).to(keys.dtype)


def close(have: Tensor, want: Tensor) -> None:
    """Fail unless two results differ by rounding only, one unit of bf16 in most places."""
    torch.testing.assert_close(have.float(), want.float(), rtol=2**-6, atol=2**-6)
