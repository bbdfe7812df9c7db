"""The ops in plain torch, as a user without kernels writes them, in the dtype of the cache."""

import torch
from torch import Tensor

from agentprim_kernels.bench.data import PAGE_SIZE


def turned(keys: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn halves of the last dimension, as Hugging Face's models do."""
    first, second = keys.chunk(2, dim=-1)
    return keys * cos + torch.cat((-second, first), dim=-1) * sin


def rotate(k_cache: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Turn all pages in place, each by its own row. Modified: `k_cache`."""
    k_cache.copy_(turned(k_cache, cos, sin))


def materialize(
    out_k: Tensor, out_v: Tensor, k_cache: Tensor, v_cache: Tensor, pages: Tensor, cos: Tensor,
    sin: Tensor,
) -> None:  # fmt: skip
    """Gather pages as dense tensors `[layers, 1, heads, tokens, dim]`. Modified: the outputs."""
    for out, cache, keys in ((out_k, k_cache, True), (out_v, v_cache, False)):
        found = cache[:, pages]
        found = turned(found, cos, sin) if keys else found
        out[:, 0].unflatten(2, (-1, PAGE_SIZE)).copy_(found.transpose(1, 2))


def store(
    k_cache: Tensor, v_cache: Tensor, pages: Tensor, offsets: Tensor, keys: Tensor, values: Tensor
) -> None:
    """Write new tokens `[layers, 1, heads, tokens, dim]`. Modified: the caches."""
    for cache, new in ((k_cache, keys), (v_cache, values)):
        cache[:, pages, :, offsets] = new[:, 0].permute(2, 0, 1, 3)


def select(
    out_k: Tensor, out_v: Tensor, k_cache: Tensor, v_cache: Tensor, pages: Tensor,
    offsets: Tensor, cos: Tensor, sin: Tensor,
) -> None:  # fmt: skip
    """Copy chosen tokens, keys turned by a row a token `[tokens, 1, 1, dim]`. Modified: outputs."""
    for out, cache, keys in ((out_k, k_cache, True), (out_v, v_cache, False)):
        found = cache[:, pages, :, offsets]  # [tokens, layers, heads, dim]
        found = turned(found, cos, sin) if keys else found
        found = found.permute(1, 0, 2, 3).unflatten(1, (-1, PAGE_SIZE))
        out.copy_(found.transpose(2, 3))


def gathered(cache: Tensor, pages: Tensor) -> Tensor:
    """Gather one layer's pages as `[1, heads, tokens, dim]`."""
    return cache[pages].transpose(0, 1).flatten(1, 2)[None]


def attention(query: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """Attend from one query a head to dense keys by two products, heads in groups."""
    grouped = query[0, :, 0].unflatten(0, (keys.shape[1], -1))  # [kv_heads, group, dim]
    scores = scale * grouped @ keys[0].transpose(1, 2)
    weights = torch.softmax(scores.float(), dim=-1).to(values.dtype)
    return (weights @ values[0]).flatten(0, 1)[None, :, None]


def sdpa(query: Tensor, keys: Tensor, values: Tensor, scale: float, *, repeat: bool) -> Tensor:
    """Attend by torch's own op, its heads in groups, or repeated as Hugging Face does."""
    if repeat:
        group = query.shape[1] // keys.shape[1]
        keys, values = (one.repeat_interleave(group, dim=1) for one in (keys, values))
    return torch.nn.functional.scaled_dot_product_attention(
        query, keys, values, scale=scale, enable_gqa=not repeat
    )
