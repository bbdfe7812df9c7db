"""Find the slots of a span: `page * page_size + offset` for each of its tokens."""

import torch
from torch import Tensor


def span_slots(page_table: Tensor, span: Tensor, page_size: int) -> Tensor:
    """List the slots of one row of a span table, int64 `[length]`, in token order."""
    page_start, first_slot, length = (int(n) for n in span[:3])
    offset = first_slot + torch.arange(length, device=page_table.device)
    pages = page_table[page_start + offset // page_size].long()
    return pages * page_size + offset % page_size
