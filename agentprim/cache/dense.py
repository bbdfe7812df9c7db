"""Dense caches: copy a KV out of its pages, and move plain `DynamicCache`s without a pool."""

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from agentprim.cache.attach import attach
from agentprim.cache.columns import check_columns
from agentprim.cache.join import OFFSETS
from agentprim.cache.kv import KV
from agentprim.cache.move import gather_
from agentprim.cache.span import Span
from agentprim.cache.table import SpanTable
from agentprim.errors import UNROTATED, NotRotated
from agentprim_kernels import materialize_, rotation


def to_cache(kv: KV) -> DynamicCache:
    """Copy a KV into a dense cache of one row, keys turned to where they now stand.

    Where positions have gaps, the next one is `kv.next_position`, not the length of the cache: pass
    `position_ids` yourself.

    Returns:
        A `DynamicCache` that keeps every key of every layer, sliding ones too.

    Raises:
        UnsupportedModel: A mask over columns would read it wrongly, or the keys cannot move that
            far.
    """
    kv.pool.layout.require_spans(kv.spans)
    kv.pool.layout.require_end(kv.spans)
    check_columns(kv.pool.layout, kv.spans)
    length, layers = len(kv), {}
    for group in kv.pool.groups:
        k_cache, v_cache = group.k_cache, group.v_cache
        lead = (len(group.layers), 1, k_cache.shape[2], length)
        out_k = k_cache.new_empty(*lead, k_cache.shape[4])
        out_v = v_cache.new_empty(*lead, v_cache.shape[4])
        table = SpanTable([kv.spans], device=k_cache.device)
        slots = torch.arange(length, device=k_cache.device)
        gather_(out_k, out_v, group, slice(None), table, slots)
        for row, layer in enumerate(group.layers):
            layers[layer] = kv.pool.layout.layer_rope(layer).order(out_k[row], out_v[row])
    return _dynamic([layers[layer] for layer in range(len(layers))] if length else [])


def relocate(cache: DynamicCache, by: int, model: nn.Module) -> DynamicCache:
    """Return a copy of a dense cache whose keys stand `by` positions further.

    Args:
        cache: A cache of `model` in which every layer keeps every key; not changed.
        by: Positions to move by; may be negative.
        model: The model that filled it; its layout decides which dims of a key turn.

    Raises:
        UnsupportedModel: The keys of this model cannot move that far.
        ValueError: The cache is not one of this model, or a layer dropped keys.
    """
    layout = attach(model).layout
    length = _length(cache, layout.shapes, "cache")
    layout.require(by, first=0, last=length - 1)
    return _dynamic(_copy([cache], [by], layout, length)) if length else _dynamic([])


def join_caches(
    caches: Sequence[DynamicCache],
    model: nn.Module,
    *,
    offsets: str = "consecutive",
    rotate: bool = True,
) -> DynamicCache:
    """Join dense caches into one: gather, rotate and concatenate in a single pass.

    Use it in a loop of your own; the next token of the result stands at its length:

        cache = join_caches([cache_b, cache_a], model)

    Args:
        caches: At least one `DynamicCache` of `model`, all with the same number of rows, none
            padded; each begins at position 0. Not changed.
        model: The model that filled them.
        offsets: As in `agentprim.join`. With `"shared"` the next position is not the length of
            the cache: pass `position_ids` yourself.
        rotate: False leaves the keys as they are: the paper's ablation, wrong on purpose, and
            warned about.

    Raises:
        UnsupportedModel: The keys of this model cannot move that far, or it would read parts at
            shared offsets through a window of columns.
        ValueError: There is nothing to join, or the caches do not fit each other or the model.
    """
    if not caches:
        raise ValueError("caches must have at least one cache, got none")
    if offsets not in OFFSETS:
        raise ValueError(f"offsets must be one of {OFFSETS}, got {offsets!r}")
    if not rotate:
        warnings.warn(UNROTATED, NotRotated, stacklevel=2)
    layout = attach(model).layout
    lengths = [_length(c, layout.shapes, f"caches[{i}]") for i, c in enumerate(caches)]
    parts = [(c, n) for c, n in zip(caches, lengths, strict=True) if n]
    if not parts:
        return _dynamic([])
    rows = {c.layers[0].keys.shape[0] for c, _ in parts}
    if len(rows) > 1:
        raise ValueError(f"caches must have the same number of rows, got {sorted(rows)}")
    shifts, places, behind = [], [], 0
    for number, (_, length) in enumerate(parts):
        shifts.append(behind if rotate else 0)
        layout.require(shifts[-1], first=0, last=length - 1)
        places.append(
            Span(pages=(), first_slot=0, length=length, position=behind, ids=(), leases=())
        )
        if number == 0 or offsets == "consecutive":
            behind += length
    check_columns(layout, places)
    return _dynamic(_copy([c for c, _ in parts], shifts, layout, sum(lengths)))


def _copy(caches, shifts: list[int], layout, total: int) -> list[tuple[Tensor, Tensor]]:
    """Copy caches behind each other, layer by layer, each turned by its shift."""
    copies = []
    for layer in range(len(layout.shapes)):
        rope, shape = layout.layer_rope(layer), layout.stored_shape(layer)
        inv_freq = rope.inv_freq[None].to(shape.device)
        rows = caches[0].layers[layer].keys.shape[0]
        lead = (1, rows, shape.num_kv_heads, total)
        out_k = torch.empty(*lead, shape.k_dim, dtype=shape.dtype, device=shape.device)
        out_v = torch.empty(*lead, shape.v_dim, dtype=shape.dtype, device=shape.device)
        begin = 0
        for cache, shift in zip(caches, shifts, strict=True):
            keys, values = rope.order(cache.layers[layer].keys, cache.layers[layer].values)
            length = keys.shape[2]
            # a dense tensor is a cache whose pages are its rows
            spans = [[row, 0, length, 0, -1] for row in range(rows)]
            slots = torch.arange(begin, begin + length)[None] + total * torch.arange(rows)[:, None]
            materialize_(
                out_k, out_v, slots.flatten().to(shape.device), keys.detach()[None],
                values.detach()[None], torch.arange(rows, dtype=torch.int32, device=shape.device),
                torch.tensor(spans, dtype=torch.int32, device=shape.device),
                rotation([shift] * rows, inv_freq), interleaved=rope.interleaved,
            )  # fmt: skip
            begin += length
        copies.append(rope.order(out_k[0], out_v[0]))
    return copies


def _length(cache: DynamicCache, shapes, argument: str) -> int:
    """Check a dense cache against a model and return its length.

    Raises:
        TypeError, ValueError: It is no `DynamicCache`, not of this model, or incomplete.
    """
    if not isinstance(cache, DynamicCache):
        raise TypeError(f"{argument} must be a DynamicCache, got {type(cache).__name__}")
    length = cache.get_seq_length()
    if not length:
        return 0
    if len(cache.layers) != len(shapes):
        raise ValueError(f"{argument} must have {len(shapes)} layers, got {len(cache.layers)}")
    for number, (layer, shape) in enumerate(zip(cache.layers, shapes, strict=True)):
        have = (layer.keys.shape[1], layer.keys.shape[3], layer.values.shape[3], layer.keys.dtype)
        want = (shape.num_kv_heads, shape.k_dim, shape.v_dim, shape.dtype)
        if have != want:
            raise ValueError(f"{argument} must have {want} in layer {number}, got {have}")
        if layer.keys.shape[2] != length:
            raise ValueError(
                f"{argument} must keep every key, got {layer.keys.shape[2]} of {length} in layer "
                f"{number}; fill a DynamicCache() made without a configuration"
            )
    return length


def _dynamic(layers: list[tuple[Tensor, Tensor]]) -> DynamicCache:
    cache = DynamicCache()
    for number, (keys, values) in enumerate(layers):
        cache.update(keys, values, number)
    return cache
