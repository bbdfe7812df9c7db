"""The attention function `"agentprim"` and its mask: they find the spans by a handle on a tensor.

`PagedCache.update()` returns the new keys with a handle on that very tensor; the mask that the
model builds before its layers is only a note of the window that a kind of layer has. Without a
handle both delegate to the implementation that the model had before.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers.masking_utils import causal_mask_function

from agentprim.cache.step import Step
from agentprim.errors import UnsupportedModel

HANDLE = "agentprim_handle"  # attribute of the keys that `PagedCache.update()` returns
NOTE = "agentprim_note"  # attribute of the mask made for a paged cache


@dataclass(frozen=True, kw_only=True)
class Handle:
    """Where the keys and values of a layer are."""

    step: Step
    layer: int


class PagedLength(int):
    """The number of cached keys, telling the mask function that they are in pages."""


@dataclass(frozen=True, kw_only=True)
class Note:
    """How far a layer sees: `window` positions, its own included, or everything.

    A mask that spans cannot follow says so in `fault`: some models make masks that no layer uses.
    """

    window: int | None
    fault: str | None = None


def attend_spans(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    delegate: Callable,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **kwargs,
) -> tuple[Tensor, None]:
    """Attend over the spans that the key's handle names, or delegate.

    Args:
        module: The attention layer.
        query: `[batch, num_heads, num_new, k_dim]`, rotated at the positions the model counts.
        key: New keys, carrying a handle where a `PagedCache` made them.
        value: New values.
        attention_mask: A note made by `note_mask`, or what `delegate` expects.
        delegate: The attention function that the model had before.
        scaling: Factor of the scores; default `k_dim ** -0.5`.
        softcap: Soft-capping of the scores.
        s_aux: Attention sinks `[num_heads]`.
        kwargs: Passed on to `delegate`.

    Returns:
        `[batch, num_new, num_heads, v_dim]`, and None for the weights.
    """
    handle: Handle | None = getattr(key, HANDLE, None)
    note: Note | None = getattr(attention_mask, NOTE, None)
    if handle is None:
        if note is not None:
            raise RuntimeError(
                f"keys must reach attention as PagedCache.update() returned them, got others in "
                f"{type(module).__name__}"
            )
        options = {"softcap": softcap} if softcap is not None else {}
        options |= {"s_aux": s_aux} if s_aux is not None else {}
        return delegate(
            module, query, key, value, attention_mask, scaling=scaling, **options, **kwargs
        )
    if note is None:
        raise UnsupportedModel(
            f"{type(module).__name__} uses a mask of its own, which cannot be applied to spans: "
            "it does not come from the mask function; use the dense path"
        )
    if note.fault is not None:
        raise UnsupportedModel(note.fault)
    out = handle.step.attend(
        query.detach(), handle.layer, window=note.window, softcap=softcap,
        scale=scaling if scaling is not None else query.shape[-1] ** -0.5,
        sinks=s_aux.detach() if s_aux is not None else None,
    )  # fmt: skip
    return out.transpose(1, 2), None


def note_mask(
    *,
    delegate: Callable,
    batch_size: int,
    kv_length: int,
    mask_function: Callable,
    local_size: int | None = None,
    use_vmap: bool = False,
    **kwargs,
) -> Tensor | None:
    """Make the mask of a kind of layer: a note for a paged cache, else what `delegate` makes.

    Padding needs no mask here: the cache read it from `attention_mask` before the layers ran.
    """
    if not isinstance(kv_length, PagedLength):
        return delegate(
            batch_size=batch_size, kv_length=kv_length, mask_function=mask_function,
            local_size=local_size, use_vmap=use_vmap, **kwargs,
        )  # fmt: skip
    first, num_new = int(kwargs.get("q_offset", 0)), int(kwargs.get("q_length", 0))
    try:
        window = _window(mask_function, local_size)
        new = range(first, first + num_new)
        _check_near(mask_function, window, batch_size, new, int(kv_length))
        note = Note(window=window)
    except UnsupportedModel as error:
        note = Note(window=None, fault=str(error))
    mask = torch.empty(0, device=kwargs.get("device", "cpu"))
    setattr(mask, NOTE, note)
    return mask


def _window(mask_function: Callable, local_size: int | None) -> int | None:
    """Find out what a mask function hides, by asking it about a few pairs of columns.

    Raises:
        UnsupportedModel: It is neither causal nor a sliding window.
    """
    if mask_function is causal_mask_function:
        return local_size
    size = local_size or 8
    columns = torch.tensor((0, 1, size - 1, size, size + 1, 2 * size - 1, 2 * size))
    _require_known(mask_function, local_size, torch.zeros(1, 1, dtype=torch.int64),
                   columns[:, None], columns[None, :])  # fmt: skip
    return local_size


def _check_near(
    mask_function: Callable, window: int | None, batch: int, new: range, length: int
) -> None:
    """Ask the mask function about columns of this very step.

    Each new token is asked about its neighbours, the last one about everything: what makes blocks
    of tokens see each other shows there.

    Raises:
        UnsupportedModel: It hides or shows something else.
    """
    if mask_function is causal_mask_function or not new:
        return
    rows = torch.arange(batch)[:, None]
    query = torch.arange(new.start, new.stop)
    for step in (-1, 1):
        _require_known(mask_function, window, rows, query, (query + step).clamp(0, length - 1))
    _require_known(mask_function, window, rows, query[-1:], torch.arange(length))


def _require_known(
    mask_function: Callable, window: int | None, row: Tensor, query: Tensor, key: Tensor
) -> None:
    expected = (key <= query) & ((query - key < window) if window else True)
    try:
        seen = mask_function(row, torch.zeros_like(row), query, key).cpu()
        known = bool((seen == expected).all())
    except IndexError:  # it looks tokens up in tables of its own
        known = False
    if not known:
        raise UnsupportedModel(
            "the model uses a mask that is neither causal nor a sliding window, which cannot be "
            "applied to spans: it depends on more than distance; use the dense path"
        )
