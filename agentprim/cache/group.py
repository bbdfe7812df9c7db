"""Layer groups: layers of equal cache shape and rotation share one pair of tensors."""

from dataclasses import dataclass

import torch
from torch import Tensor

from agentprim.cache.layout import Layout
from agentprim.config import PoolConfig


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerGroup:
    """Cache tensors of some layers.

    Attributes:
        layers: Model layers, in the order of the first dimension of the tensors.
        k_cache: `[group_layers, num_pages, num_kv_heads, page_size, k_dim]`.
        v_cache: The same with `v_dim`.
        inv_freq: Radians per position, fp32 `[group_layers, rotary_dim / 2]`; one expanded row
            (stride 0) where all layers turn alike, zero rows for layers without RoPE.
        interleaved: Pairs are adjacent dims.
    """

    layers: tuple[int, ...]
    k_cache: Tensor
    v_cache: Tensor
    inv_freq: Tensor
    interleaved: bool


def build_groups(layout: Layout, config: PoolConfig) -> tuple[LayerGroup, ...]:
    """Allocate the cache tensors of a model, one pair for each kind of layer."""
    kinds: dict[tuple, list[int]] = {}
    ropes = [layout.layer_rope(layer) for layer in range(len(layout.shapes))]
    for layer, shape in enumerate(layout.shapes):
        turning = [
            kind
            for kind in kinds
            if kind[0] == shape and (ropes[layer].rotary_dim == 0 or kind[1] in (None, _turn(ropes[layer])))
        ]  # fmt: skip
        kind = turning[0] if turning else (shape, _turn(ropes[layer]))
        layers = kinds.pop(kind, [])
        if kind[1] is None:  # only layers without RoPE so far: the group takes this one's rotation
            kind = (shape, _turn(ropes[layer]))
        kinds[kind] = [*layers, layer]
    return tuple(_group(layout, config, kind, tuple(layers)) for kind, layers in kinds.items())


def _turn(rope) -> tuple[int, bool] | None:
    """Name what layers of a group must share: rotary width and pairing."""
    return (rope.rotary_dim, rope.interleaved) if rope.rotary_dim else None


def _group(layout: Layout, config: PoolConfig, kind: tuple, layers: tuple[int, ...]) -> LayerGroup:
    shape, turn = kind
    rotary_dim, interleaved = turn or (0, False)
    lead = (len(layers), config.pages, shape.num_kv_heads, config.page_size)
    rows = [layout.layer_rope(layer).inv_freq for layer in layers]
    rows = [row if row.numel() else torch.zeros(rotary_dim // 2) for row in rows]
    inv_freq = torch.stack(rows).float().to(shape.device)
    if (inv_freq == inv_freq[:1]).all():
        inv_freq = inv_freq[:1].expand(len(layers), -1)
    return LayerGroup(
        layers=layers,
        k_cache=torch.empty(*lead, shape.k_dim, dtype=shape.dtype, device=shape.device),
        v_cache=torch.empty(*lead, shape.v_dim, dtype=shape.dtype, device=shape.device),
        inv_freq=inv_freq,
        interleaved=interleaved,
    )
