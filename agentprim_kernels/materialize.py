"""Materialize spans: gather, rotate and scatter in one pass."""

import torch
from torch import Tensor

from agentprim_kernels import checks
from agentprim_kernels.dispatch import pick


def materialize_(
    out_k: Tensor,
    out_v: Tensor,
    slot_mapping: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    page_table: Tensor,
    spans: Tensor,
    rotation: Tensor,
    *,
    interleaved: bool = False,
    impl: str | None = None,
) -> None:
    """Copy every token of the spans to a slot of its own, keys turned by their span's delta.

        out_k[:, slot_mapping[t]] <- R(delta_s(t)) k_cache[:, slot of t]
        out_v[:, slot_mapping[t]] <- v_cache[:, slot of t]

    Values are copied byte for byte. The target may be another cache: a dense Hugging Face tensor
    `[group_layers, 1, heads, length, dim]` is a cache of one page.

    Args:
        out_k: Target `[group_layers, num_pages, num_kv_heads, page_size, k_dim]`. Modified.
        out_v: The same with `v_dim`. Modified. Target slots must not be slots of the spans.
        slot_mapping: Target slot of each token in span order, int64 `[sum of lengths]`; a
            negative slot skips its token.
        k_cache: Source, as `out_k` but with its own number of pages and page size.
        v_cache: Source, as `out_v`.
        page_table, spans, rotation, interleaved: As in `rotate_`; spans may share slots here.
        impl: `"triton"`, `"cpp"`, `"reference"`; None decides by device.

    Raises:
        TypeError, ValueError: An argument has the wrong type, shape, dtype or device.
    """
    checks.pair(out_k, out_v, "out_k", "out_v")
    checks.pair(k_cache, v_cache, "k_cache", "v_cache")
    checks.alike(out_k, k_cache, "out_k", "k_cache")
    checks.alike(out_v, v_cache, "out_v", "v_cache")
    checks.tensor(slot_mapping, "slot_mapping", 1, (torch.int64,))
    checks.tables(page_table, spans)
    checks.rotation(rotation, (k_cache.shape[0], spans.shape[0]), k_cache.shape[-1])
    checks.same_device(out_k, out_v, slot_mapping, k_cache, v_cache, page_table, spans, rotation)
    if slot_mapping.numel() == 0:
        return
    run = pick("materialize", "materialize_", k_cache, impl, can=k_cache.dtype != torch.float64)
    run(
        out_k, out_v, slot_mapping.contiguous(), k_cache, v_cache, page_table, spans, rotation,
        interleaved=interleaved,
    )  # fmt: skip
