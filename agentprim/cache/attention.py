"""The attention function `"agentprim"` and its mask: they find the spans by a handle on a tensor.

`PagedCache.update()` returns the new keys with a handle on that very tensor; the mask that the
model builds before its layers is only a note of the window that a kind of layer has. Without a
handle both delegate to the implementation that the model had before.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

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
    """How far a layer sees: `window` positions, its own included, or everything."""

    window: int | None


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
    mask = torch.empty(0, device=kwargs.get("device", "cpu"))
    setattr(mask, NOTE, Note(window=_window(mask_function, local_size)))
    return mask


def _window(mask_function: Callable, local_size: int | None) -> int | None:
    """Find out what a mask function hides, by asking it about a few pairs of columns.

    Raises:
        UnsupportedModel: It is neither causal nor a sliding window.
    """
    size = local_size or 8
    columns = torch.tensor((0, 1, size - 1, size, size + 1, 2 * size - 1, 2 * size))
    query, key = columns[:, None], columns[None, :]
    expected = (key <= query) & ((query - key < local_size) if local_size else True)
    zero = torch.tensor(0)
    try:
        known = bool((mask_function(zero, zero, query, key).cpu() == expected).all())
    except IndexError:  # it looks tokens up in tables of its own
        known = False
    if not known:
        raise UnsupportedModel(
            "the model uses a mask that is neither causal nor a sliding window, which cannot be "
            "applied to spans: it depends on more than distance; use the dense path"
        )
    return local_size
