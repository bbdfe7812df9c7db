"""Pack pages of a cache into host memory, and put them back."""

import torch
from torch import Tensor

from agentprim_kernels import checks
from agentprim_kernels.dispatch import pick
from agentprim_kernels.staging_ring import StagingRing


def pack_pages_(
    packed: Tensor,
    pages: Tensor,
    cache: Tensor,
    *,
    ring: StagingRing | None = None,
    impl: str | None = None,
) -> None:
    """Copy pages to host memory byte for byte, all layers of a group at once.

        packed[i] <- cache[:, pages[i]]

    Returns when `packed` is written, after whatever the current stream was given before.

    Args:
        packed: `[num_pages_packed, group_layers, num_kv_heads, page_size, dim]`, contiguous, on
            the CPU. Modified. Where it is pinned, it is written without a detour.
        pages: int32 `[num_pages_packed]` on the CPU.
        cache: `[group_layers, num_pages, num_kv_heads, page_size, dim]`, on any device; dtype of
            `packed`.
        ring: Of the device of `cache`; `"cuda"` needs it, `"cpp"` may do without.
        impl: `"cuda"`, `"cpp"`, `"reference"`; None decides by device, and takes the reference on
            a GPU without a ring.

    Raises:
        TypeError, ValueError: An argument has the wrong type, shape, dtype or device.
        RuntimeError: The device failed; what `packed` holds then is undefined.
    """
    _run("pack_pages_", packed, pages, cache, ring, impl)


def unpack_pages_(
    cache: Tensor,
    pages: Tensor,
    packed: Tensor,
    *,
    ring: StagingRing | None = None,
    impl: str | None = None,
) -> None:
    """Copy packed pages back into a cache, byte for byte.

        cache[:, pages[i]] <- packed[i]

    Returns when `packed` may be freed or written. The current stream goes on with the pages in
    place; what it was given before still sees what they held.

    Args:
        cache: As in `pack_pages_`. Modified.
        pages: As in `pack_pages_`; no page twice.
        packed: As in `pack_pages_`.
        ring: As in `pack_pages_`.
        impl: As in `pack_pages_`.

    Raises:
        TypeError, ValueError: An argument has the wrong type, shape, dtype or device.
        RuntimeError: The device failed; what the pages hold then is undefined.
    """
    _run("unpack_pages_", packed, pages, cache, ring, impl)


def _run(
    function: str, packed: Tensor, pages: Tensor, cache: Tensor, ring: StagingRing | None,
    impl: str | None,
) -> None:  # fmt: skip
    checks.cache(cache, "cache")
    checks.cache(packed, "packed")
    checks.tensor(pages, "pages", 1, (torch.int32,))
    layers, num_pages, *rest = cache.shape
    want = (pages.shape[0], layers, *rest)
    checks.require(packed.shape == want, "packed", f"have shape {want}", tuple(packed.shape))
    checks.require(packed.dtype == cache.dtype, "packed", f"be {cache.dtype}", packed.dtype)
    checks.require(packed.is_contiguous(), "packed", "be contiguous", packed.stride())
    for value, name in ((packed, "packed"), (pages, "pages")):
        checks.require(value.device.type == "cpu", name, "be on the CPU", value.device)
    if ring is not None:
        checks.require(ring.device == cache.device, "ring", f"be of {cache.device}", ring.device)
    if pages.shape[0] == 0:
        return
    low, high = (int(end) for end in pages.aminmax())
    checks.require(0 <= low and high < num_pages, "pages", f"be in 0..{num_pages - 1}",
                   f"{low}..{high}")  # fmt: skip
    if impl is None and ring is None and cache.is_cuda:
        impl = "reference"
    run = pick("pack_pages", function, cache, impl)
    checks.require(impl != "cuda" or ring is not None, "ring", "be given for impl 'cuda'", ring)
    first, last = (packed, cache) if function == "pack_pages_" else (cache, packed)
    run(first, pages.contiguous(), last, ring=ring)
