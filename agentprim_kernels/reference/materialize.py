"""Gather spans, rotate their keys and scatter both to new slots, in plain torch."""

import torch
from torch import Tensor

from agentprim_kernels.reference.select import select_
from agentprim_kernels.reference.slots import span_slots


def materialize_(
    out_k: Tensor,
    out_v: Tensor,
    slot_mapping: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    page_table: Tensor,
    spans: Tensor,
    rotation: Tensor,
    *,
    interleaved: bool,
) -> None:
    if not len(spans):
        return
    source = torch.cat([span_slots(page_table, span, k_cache.shape[3]) for span in spans])
    rows = torch.arange(len(spans), device=spans.device).repeat_interleave(spans[:, 2].long())
    select_(
        out_k, out_v, slot_mapping, k_cache, v_cache, source, rows, rotation,
        interleaved=interleaved,
    )  # fmt: skip
