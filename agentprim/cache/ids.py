"""Full-length ids and masks, as `generate` wants them for a filled cache: build and check them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from agentprim.cache.row import Row


def read_ids(new_ids: Sequence | Tensor) -> list[list[int]]:
    """Read the new ids of each row: one flat list, or one list a row.

    Raises:
        ValueError: A row gets no id.
    """
    new = new_ids.tolist() if isinstance(new_ids, Tensor) else list(new_ids)
    new = [part.tolist() if hasattr(part, "tolist") else part for part in new]
    rows = [list(part) for part in new] if new and hasattr(new[0], "__len__") else [new]
    if not all(rows):
        raise ValueError("new_ids must have at least one id for each row, got none")
    return rows


def full_inputs(rows: list[Row], new: list[list[int]], columns: int, pad_id: int) -> dict:
    """Put the ids that rows hold before their new ones, at the right end of each line.

    Args:
        rows: What is cached.
        new: New ids of each row.
        columns: Columns that the cache counts already.
        pad_id: Stands in empty columns and for tokens that have no id.

    Returns:
        `input_ids` and `attention_mask`, int64 `[batch, columns + most new ids]`, on the CPU.
    """
    width = columns + max(map(len, new))
    ids = torch.full((len(rows), width), pad_id, dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for index, (row, part) in enumerate(zip(rows, new, strict=True)):
        whole = torch.tensor([*row.ids, *part])
        ids[index, width - len(whole) :] = whole.where(whole >= 0, pad_id)
        mask[index, width - len(whole) :] = 1
    return {"input_ids": ids, "attention_mask": mask}


def check_known(rows: list[Row], input_ids: Tensor, mask: Tensor | None) -> None:
    """Check that full-length ids begin with what rows hold.

    Raises:
        ValueError: They do not: a sign of new ids without a full-length mask.
    """
    starts = [0] * len(input_ids) if mask is None else (mask == 0).sum(-1).tolist()
    for row, line, start in zip(rows, input_ids.tolist(), starts, strict=False):
        known = row.ids
        held = line[start : start + len(known)]
        if len(held) < len(known) or any(
            k not in (-1, i) for k, i in zip(known, held, strict=False)
        ):
            raise ValueError(
                "input_ids must begin with the cached ids, got others: pass new ids with a "
                "full-length attention_mask, or use cache.inputs(new_ids)"
            )
