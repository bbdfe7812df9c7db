"""Check arguments of public ops: one clear sentence for each fault, before anything is touched.

An op is called once a layer and token, so what passes must cost little: sentences are put together
only for what does not.
"""

from typing import NoReturn

import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def fail(argument: str, must: str, actual: object) -> NoReturn:
    """Raise `ValueError("<argument> must <must>, got <actual>")`."""
    raise ValueError(f"{argument} must {must}, got {actual}")


def require(condition: bool, argument: str, must: str, actual: object) -> None:
    """Fail unless the condition holds."""
    if not condition:
        fail(argument, must, actual)


def tensor(value: object, argument: str, ndim: int, dtypes: tuple[torch.dtype, ...]) -> None:
    """Require a tensor of a given rank and dtype."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{argument} must be a torch.Tensor, got {type(value).__name__}")
    if value.ndim != ndim:
        fail(argument, f"have {ndim} dimensions", f"shape {tuple(value.shape)}")
    if value.dtype not in dtypes:
        names = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        fail(argument, f"be {names}", value.dtype)


def cache(value: Tensor, argument: str, ndim: int = 5) -> None:
    """Require a cache whose last dimension is contiguous."""
    tensor(value, argument, ndim, FLOATS)
    if value.stride(-1) != 1:
        fail(argument, "have a contiguous last dimension", value.stride())


def same_device(first: Tensor, *others: Tensor | None) -> None:
    """Require that all tensors live on one device."""
    device = first.device
    for other in others:
        if other is not None and other.device != device:
            names = {str(value.device) for value in (first, *others) if value is not None}
            fail("tensors", "be on one device", ", ".join(sorted(names)))


def pair(k_cache: Tensor, v_cache: Tensor, k_name: str, v_name: str, ndim: int = 5) -> None:
    """Require that a key and a value cache differ at most in their last dimension."""
    cache(k_cache, k_name, ndim)
    cache(v_cache, v_name, ndim)
    if v_cache.shape[:-1] != k_cache.shape[:-1]:
        want = f"have shape {(*k_cache.shape[:-1], 'v_dim')} like {k_name}"
        fail(v_name, want, tuple(v_cache.shape))
    if v_cache.dtype != k_cache.dtype:
        fail(v_name, f"be {k_cache.dtype}", v_cache.dtype)


def tables(page_table: Tensor, spans: Tensor) -> None:
    """Require an int32 page table and an int32 span table of five columns."""
    tensor(page_table, "page_table", 1, (torch.int32,))
    tensor(spans, "spans", 2, (torch.int32,))
    if spans.shape[1] != 5:
        fail("spans", "have 5 columns", spans.shape[1])
    if not spans.is_contiguous():
        fail("spans", "be contiguous", spans.stride())
    if not page_table.is_contiguous():
        fail("page_table", "be contiguous", page_table.stride())


def rotation(value: Tensor, lead: tuple[int, ...], dim: int) -> None:
    """Require cos/sin rows of shape `[*lead, 2, half]` with `2 * half <= dim`."""
    tensor(value, "rotation", len(lead) + 2, (torch.float32,))
    *have, half = value.shape
    if have != [*lead, 2]:
        fail("rotation", f"have shape {(*lead, 2, 'rotary_dim / 2')}", tuple(value.shape))
    if half * 2 > dim:
        fail("rotation", f"turn at most k_dim = {dim} dims", half * 2)
    inner = value.stride()[-3:]  # of rows, of cos and sin, of the dims
    if inner != (2 * half, half, 1) and not value[0].is_contiguous():
        fail("rotation", "be contiguous within a layer", value.stride())


def alike(out: Tensor, source: Tensor, out_name: str, source_name: str) -> None:
    """Require that two caches agree in layers, heads, dim and dtype."""
    want = tuple(source.shape[i] for i in (0, 2, 4))
    have = tuple(out.shape[i] for i in (0, 2, 4))
    if have != want:
        fail(out_name, f"have layers, heads, dim = {want} like {source_name}", have)
    if out.dtype != source.dtype:
        fail(out_name, f"be {source.dtype}", out.dtype)
