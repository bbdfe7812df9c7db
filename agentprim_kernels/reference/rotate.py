"""Rotate stored keys in place, in plain torch."""

from torch import Tensor

from agentprim_kernels.reference.slots import span_slots
from agentprim_kernels.reference.turn import turn


def rotate_(
    k_cache: Tensor, page_table: Tensor, spans: Tensor, rotation: Tensor, *, interleaved: bool
) -> None:
    page_size = k_cache.shape[3]
    for index, span in enumerate(spans):
        slots = span_slots(page_table, span, page_size)
        where = (slice(None), slots // page_size, slice(None), slots % page_size)
        keys = k_cache[where]  # [tokens, group_layers, heads, dim]: split advanced indices go first
        cos, sin = rotation[:, index].unbind(1)  # [group_layers, rotary_dim / 2]
        k_cache[where] = turn(keys, cos[:, None], sin[:, None], interleaved=interleaved)
