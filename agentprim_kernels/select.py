"""Select tokens: copy any list of them to new slots, closing the gaps in storage."""

import torch
from torch import Tensor

from agentprim_kernels import checks
from agentprim_kernels.dispatch import pick


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
    interleaved: bool = False,
    impl: str | None = None,
) -> None:
    """Copy chosen tokens to slots of their own, each key turned by its rotation row.

        out_k[:, slot_mapping[t]] <- R(delta of rows[t]) k_cache[:, source_slots[t]]
        out_v[:, slot_mapping[t]] <- v_cache[:, source_slots[t]]

    Args:
        out_k, out_v: Targets, as in `materialize_`. Modified.
        slot_mapping: int64 `[num_tokens]`; a negative slot skips its token.
        k_cache, v_cache: Sources, as in `materialize_`. No source slot may be a target slot.
        source_slots: int64 `[num_tokens]`.
        rows: Which row of `rotation` turns each token, int32 `[num_tokens]`.
        rotation: fp32 `[group_layers, num_rows, 2, rotary_dim / 2]`.
        interleaved: As in `rotate_`.
        impl: `"triton"`, `"cpp"`, `"reference"`; None decides by device.

    Raises:
        TypeError, ValueError: An argument has the wrong type, shape, dtype or device.
    """
    checks.pair(out_k, out_v, "out_k", "out_v")
    checks.pair(k_cache, v_cache, "k_cache", "v_cache")
    checks.alike(out_k, k_cache, "out_k", "k_cache")
    checks.alike(out_v, v_cache, "out_v", "v_cache")
    checks.tensor(slot_mapping, "slot_mapping", 1, (torch.int64,))
    checks.tensor(source_slots, "source_slots", 1, (torch.int64,))
    checks.tensor(rows, "rows", 1, (torch.int32,))
    for name, value in (("source_slots", source_slots), ("rows", rows)):
        checks.require(value.shape == slot_mapping.shape, name,
                       f"have shape {tuple(slot_mapping.shape)}", tuple(value.shape))  # fmt: skip
    checks.rotation(rotation, (k_cache.shape[0], rotation.shape[1]), k_cache.shape[-1])
    checks.same_device(out_k, out_v, slot_mapping, k_cache, v_cache, source_slots, rows, rotation)
    if slot_mapping.numel() == 0:
        return
    run = pick("select", "select_", k_cache, impl, can=k_cache.dtype != torch.float64)
    run(
        out_k, out_v, slot_mapping.contiguous(), k_cache, v_cache, source_slots.contiguous(),
        rows.contiguous(), rotation, interleaved=interleaved,
    )  # fmt: skip
