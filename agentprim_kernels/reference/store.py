"""Write new keys and values to their slots, in plain torch."""

from torch import Tensor


def store_(
    k_cache: Tensor, v_cache: Tensor, slot_mapping: Tensor, keys: Tensor, values: Tensor
) -> None:
    page_size = k_cache.shape[3]
    row, token = (slot_mapping >= 0).nonzero(as_tuple=True)
    slots = slot_mapping[row, token]
    where = (slice(None), slots // page_size, slice(None), slots % page_size)
    k_cache[where] = keys[:, row, :, token]  # both sides [tokens, group_layers, heads, dim]
    v_cache[where] = values[:, row, :, token]
