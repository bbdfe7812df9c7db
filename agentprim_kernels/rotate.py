"""Rotate stored keys in place: the paper's own way to move a cache."""

import torch
from torch import Tensor

from agentprim_kernels import checks
from agentprim_kernels.dispatch import pick


def rotate_(
    k_cache: Tensor,
    page_table: Tensor,
    spans: Tensor,
    rotation: Tensor,
    *,
    interleaved: bool = False,
    impl: str | None = None,
) -> None:
    """Apply `R(delta)` to the stored keys of every span, all layers of a group at once.

        k_cache[:, slots of s, :rotary_dim] <- R(delta_s) k_cache[:, slots of s, :rotary_dim]

    Computed in fp32, rounded once to the cache dtype. *Agent Primitives* (arXiv 2602.03695), Eq. 1.

    Args:
        k_cache: Keys `[group_layers, num_pages, num_kv_heads, page_size, k_dim]`. Modified.
        page_table: Pages of all spans, one span after the other, int32 `[num_entries]`.
        spans: int32 `[num_spans, 5]`; columns: start in `page_table`, slot offset in the first
            page, length, position, start in key_positions (the last two are unused here).
            No two spans may share a slot.
        rotation: Rows of `agentprim_kernels.rotation`, fp32 `[group_layers, num_spans, 2,
            rotary_dim / 2]`; stride 0 over layers is allowed.
        interleaved: Pairs are `(2i, 2i + 1)` instead of `(i, i + rotary_dim / 2)`.
        impl: `"triton"`, `"cpp"`, `"reference"`; None decides by device.

    Raises:
        TypeError, ValueError: An argument has the wrong type, shape, dtype or device.
    """
    checks.cache(k_cache, "k_cache")
    checks.tables(page_table, spans)
    checks.rotation(rotation, (k_cache.shape[0], spans.shape[0]), k_cache.shape[-1])
    checks.same_device(k_cache, page_table, spans, rotation)
    if spans.shape[0] == 0 or rotation.shape[-1] == 0:
        return
    run = pick("rotate", "rotate_", k_cache, impl, can=k_cache.dtype != torch.float64)
    run(k_cache, page_table, spans, rotation, interleaved=interleaved)
