"""Copy chosen tokens to new slots, each turned by its row, in plain torch."""

from torch import Tensor

from agentprim_kernels.reference.turn import turn


def select_(
    out_k: Tensor,
    out_v: Tensor,
    slot_mapping: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    source_slots: Tensor,
    rows: Tensor,
    rotation: Tensor,
    *,
    interleaved: bool,
) -> None:
    keep = (slot_mapping >= 0).nonzero()[:, 0]
    source, target, row = source_slots[keep], slot_mapping[keep], rows[keep].long()
    page_size, out_size = k_cache.shape[3], out_k.shape[3]
    keys = k_cache[:, source // page_size, :, source % page_size]  # [tokens, group_layers, ...]
    cos, sin = rotation[:, row].transpose(0, 1).unbind(2)  # [tokens, group_layers, rotary_dim / 2]
    where = (slice(None), target // out_size, slice(None), target % out_size)
    out_k[where] = turn(keys, cos[:, :, None], sin[:, :, None], interleaved=interleaved)
    out_v[where] = v_cache[:, source // page_size, :, source % page_size]
