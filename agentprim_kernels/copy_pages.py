"""Copy whole pages from one cache to another, or within one."""

import torch
from torch import Tensor

from agentprim_kernels import checks
from agentprim_kernels.dispatch import pick


def copy_pages_(
    out_cache: Tensor, cache: Tensor, pairs: Tensor, *, impl: str | None = None
) -> None:
    """Copy pages byte for byte, all layers of a group at once.

        out_cache[:, pairs[i, 0]] <- cache[:, pairs[i, 1]]

    Args:
        out_cache: `[group_layers, num_pages, num_kv_heads, page_size, dim]`. Modified. May be
            `cache` itself.
        cache: The same with its own number of pages; same dtype.
        pairs: Target page and source page, int64 `[num_pairs, 2]`. No target twice, and where
            both caches are one, no target that is a source. On a GPU pages are not checked.
        impl: `"cuda"`, `"cpp"`, `"reference"`; None decides by device. `"cuda"` runs on the
            current stream and does not wait.

    Raises:
        TypeError, ValueError: An argument has the wrong type, shape, dtype or device.
    """
    checks.cache(out_cache, "out_cache")
    checks.cache(cache, "cache")
    checks.alike(out_cache, cache, "out_cache", "cache")
    size = cache.shape[3]
    checks.require(out_cache.shape[3] == size, "out_cache", f"have page_size = {size} like cache",
                   out_cache.shape[3])  # fmt: skip
    checks.tensor(pairs, "pairs", 2, (torch.int64,))
    checks.require(pairs.shape[1] == 2, "pairs", "have 2 columns", pairs.shape[1])
    checks.same_device(out_cache, cache, pairs)
    if pairs.shape[0] == 0:
        return
    run = pick("copy_pages", "copy_pages_", cache, impl)
    run(out_cache, cache, pairs.contiguous())
