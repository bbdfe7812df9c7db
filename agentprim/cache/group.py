"""Layer groups: layers of equal cache shape and rotation share one pair of tensors."""

from dataclasses import dataclass

import torch
from torch import Tensor

from agentprim.cache.layout import LayerShape, Layout
from agentprim.config import PoolConfig


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerGroup:
    """Cache tensors of some layers.

    Attributes:
        layers: Model layers, in the order of the first dimension of the tensors.
        k_cache: What turns, `[group_layers, num_pages, num_kv_heads, page_size, k_dim]`: keys, or
            the rotary slice beside a latent.
        v_cache: What stays; the same with `v_dim`.
        inv_freq: Radians per position, fp32 `[group_layers, rotary_dim / 2]`; one expanded row
            (stride 0) where all layers turn alike, zero rows for layers without RoPE.
        interleaved: Pairs are adjacent dims.
        far_inv_freq: The same for keys from beyond a switch, None where there is none.
    """

    layers: tuple[int, ...]
    k_cache: Tensor
    v_cache: Tensor
    inv_freq: Tensor
    interleaved: bool
    far_inv_freq: Tensor | None = None

    def table(self, side: int) -> Tensor:
        """Return the frequencies by which keys of one side were turned."""
        return self.far_inv_freq if side else self.inv_freq


def build_groups(layout: Layout, config: PoolConfig) -> tuple[LayerGroup, ...]:
    """Allocate the cache tensors of a model, one pair for each kind of layer.

    Layers without RoPE go with the first rotation that their shape has elsewhere.
    """
    turns: list[tuple[int, bool]] = []
    default: dict[LayerShape, tuple[int, bool]] = {}
    shapes = [layout.stored_shape(layer) for layer in range(len(layout.shapes))]
    for layer, shape in enumerate(shapes):
        rope = layout.layer_rope(layer)
        turns.append((rope.rotary_dim, rope.interleaved))
        if rope.rotary_dim:
            default.setdefault(shape, turns[-1])
    kinds: dict[tuple[LayerShape, tuple[int, bool]], list[int]] = {}
    for layer, (shape, turn) in enumerate(zip(shapes, turns, strict=True)):
        kind = (shape, turn if turn[0] else default.get(shape, (0, False)))
        kinds.setdefault(kind, []).append(layer)
    return tuple(
        _group(layout, config, shape, turn, layers) for (shape, turn), layers in kinds.items()
    )


def _group(
    layout: Layout, config: PoolConfig, shape: LayerShape, turn: tuple[int, bool], layers: list[int]
) -> LayerGroup:
    sides = (0,) if layout.switch is None else (0, 1)
    tables = [_table([layout.layer_rope(i, side).inv_freq for i in layers], turn) for side in sides]
    inv_freq, *far = (table.to(shape.device) for table in tables)
    lead = (len(layers), config.pages, shape.num_kv_heads, config.page_size)
    return LayerGroup(
        layers=tuple(layers),
        k_cache=torch.empty(*lead, shape.k_dim, dtype=shape.dtype, device=shape.device),
        v_cache=torch.empty(*lead, shape.v_dim, dtype=shape.dtype, device=shape.device),
        inv_freq=inv_freq,
        interleaved=turn[1],
        far_inv_freq=far[0] if far else None,
    )


def _table(rows: list[Tensor], turn: tuple[int, bool]) -> Tensor:
    """Stack the frequencies of layers, as one expanded row where all are equal."""
    rows = [row if len(row) else torch.zeros(turn[0] // 2) for row in rows]
    inv_freq = torch.stack(rows).float()
    if (inv_freq == inv_freq[:1]).all():
        inv_freq = inv_freq[:1].expand(len(rows), -1)
    return inv_freq
