"""Store new keys and values in the pages of a cache."""

import torch
from torch import Tensor

from agentprim_kernels import checks
from agentprim_kernels.dispatch import pick


def store_(
    k_cache: Tensor,
    v_cache: Tensor,
    slot_mapping: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    impl: str | None = None,
) -> None:
    """Copy each token's keys and values, in Hugging Face's layout, to its slot.

        k_cache[:, slot // page_size, :, slot % page_size] <- keys[:, row, :, token]

    Args:
        k_cache: `[group_layers, num_pages, num_kv_heads, page_size, k_dim]`. Modified.
        v_cache: The same with `v_dim`. Modified.
        slot_mapping: int64 `[batch, num_tokens]`; a negative slot skips its token. No slot twice.
        keys: `[group_layers, batch, num_kv_heads, num_tokens, k_dim]`, dtype of the cache; any
            strides with a contiguous last dimension.
        values: The same with `v_dim`.
        impl: `"triton"`, `"cpp"`, `"reference"`; None decides by device.

    Raises:
        TypeError, ValueError: An argument has the wrong type, shape, dtype or device.
    """
    checks.pair(k_cache, v_cache, "k_cache", "v_cache")
    checks.tensor(slot_mapping, "slot_mapping", 2, (torch.int64,))
    checks.pair(keys, values, "keys", "values")
    layers, _, heads, _, k_dim = k_cache.shape
    want = (layers, slot_mapping.shape[0], heads, slot_mapping.shape[1], k_dim)
    checks.require(keys.shape == want, "keys", f"have shape {want}", tuple(keys.shape))
    checks.require(values.shape[-1] == v_cache.shape[-1], "values",
                   f"have v_dim = {v_cache.shape[-1]}", values.shape[-1])  # fmt: skip
    checks.require(keys.dtype == k_cache.dtype, "keys", f"be {k_cache.dtype}", keys.dtype)
    checks.same_device(k_cache, v_cache, slot_mapping, keys, values)
    if slot_mapping.numel() == 0:
        return
    run = pick("store", "store_", k_cache, impl, can=k_cache.dtype != torch.float64)
    run(k_cache, v_cache, slot_mapping.contiguous(), keys, values)
