"""Check arguments of public ops: one clear sentence for each fault, before anything is touched."""

import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def require(condition: bool, argument: str, must: str, actual: object) -> None:
    """Raise `ValueError("<argument> must <must>, got <actual>")` unless the condition holds."""
    if not condition:
        raise ValueError(f"{argument} must {must}, got {actual}")


def tensor(value: object, argument: str, ndim: int, dtypes: tuple[torch.dtype, ...]) -> None:
    """Require a tensor of a given rank and dtype."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{argument} must be a torch.Tensor, got {type(value).__name__}")
    require(value.ndim == ndim, argument, f"have {ndim} dimensions", f"shape {tuple(value.shape)}")
    names = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
    require(value.dtype in dtypes, argument, f"be {names}", value.dtype)


def cache(value: Tensor, argument: str, ndim: int = 5) -> None:
    """Require a cache whose last dimension is contiguous."""
    tensor(value, argument, ndim, FLOATS)
    require(value.stride(-1) == 1, argument, "have a contiguous last dimension", value.stride())


def same_device(*values: Tensor | None) -> None:
    """Require that all tensors live on one device."""
    devices = {str(value.device) for value in values if value is not None}
    require(len(devices) == 1, "tensors", "be on one device", ", ".join(sorted(devices)))


def pair(k_cache: Tensor, v_cache: Tensor, k_name: str, v_name: str, ndim: int = 5) -> None:
    """Require that a key and a value cache differ at most in their last dimension."""
    cache(k_cache, k_name, ndim)
    cache(v_cache, v_name, ndim)
    want = f"have shape {(*k_cache.shape[:-1], 'v_dim')} like {k_name}"
    require(v_cache.shape[:-1] == k_cache.shape[:-1], v_name, want, tuple(v_cache.shape))
    require(v_cache.dtype == k_cache.dtype, v_name, f"be {k_cache.dtype}", v_cache.dtype)


def tables(page_table: Tensor, spans: Tensor) -> None:
    """Require an int32 page table and an int32 span table of five columns."""
    tensor(page_table, "page_table", 1, (torch.int32,))
    tensor(spans, "spans", 2, (torch.int32,))
    require(spans.shape[1] == 5, "spans", "have 5 columns", spans.shape[1])
    require(spans.is_contiguous(), "spans", "be contiguous", spans.stride())
    require(page_table.is_contiguous(), "page_table", "be contiguous", page_table.stride())


def rotation(value: Tensor, lead: tuple[int, ...], dim: int) -> None:
    """Require cos/sin rows of shape `[*lead, 2, half]` with `2 * half <= dim`."""
    tensor(value, "rotation", len(lead) + 2, (torch.float32,))
    want = f"have shape {(*lead, 2, 'rotary_dim / 2')}"
    require(tuple(value.shape[:-1]) == (*lead, 2), "rotation", want, tuple(value.shape))
    require(value.shape[-1] * 2 <= dim, "rotation", f"turn at most k_dim = {dim} dims",
            value.shape[-1] * 2)  # fmt: skip
    require(value[:1].is_contiguous(), "rotation", "be contiguous within a layer", value.stride())


def alike(out: Tensor, source: Tensor, out_name: str, source_name: str) -> None:
    """Require that two caches agree in layers, heads, dim and dtype."""
    want = tuple(source.shape[i] for i in (0, 2, 4))
    have = tuple(out.shape[i] for i in (0, 2, 4))
    require(have == want, out_name, f"have layers, heads, dim = {want} like {source_name}", have)
    require(out.dtype == source.dtype, out_name, f"be {source.dtype}", out.dtype)
