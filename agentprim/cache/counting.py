"""Read from a mask and from position ids where the new tokens of each row stand."""

import torch
from torch import Tensor

from agentprim.cache.row import Row


def count_new(rows: list[Row], columns: int, num_new: int, mask: Tensor | None) -> list[int]:
    """Count the new tokens of each row by its mask.

    Args:
        rows: The sequences so far.
        columns: Columns of the mask, new ones included.
        num_new: Columns of new tokens, padding included.
        mask: `[batch, columns]`, zeros at the left, or None for all ones.

    Raises:
        ValueError: The mask does not fit, has zeros behind ones, or hides what is cached.
    """
    if mask is None:
        return [num_new] * len(rows)
    shape = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
    if shape != (len(rows), columns):
        raise ValueError(
            f"attention_mask must have shape ({len(rows)}, {columns}), what is cached included, "
            f"got {shape}; cache.inputs(new_ids) builds it"
        )
    mask = mask.bool()
    lengths = mask.sum(-1).tolist()
    right = torch.arange(columns, device=mask.device) >= columns - mask.sum(-1, keepdim=True)
    if not bool((mask == right).all()):
        raise ValueError("attention_mask must be padded at the left, got zeros after ones")
    counts = [length - row.length for length, row in zip(lengths, rows, strict=True)]
    for count, length, row in zip(counts, lengths, rows, strict=True):
        if not 0 <= count <= num_new:
            raise ValueError(
                f"attention_mask must have {row.length} ones for what is cached and up to "
                f"{num_new} for new tokens, got {length}"
            )
    return counts


def counted_positions(
    position_ids: Tensor | None, batch: int, start: int, num_new: int
) -> list[list[int]]:
    """List the positions that the model gives to the new columns of each row.

    Args:
        position_ids: `[batch or 1, num_new]`, or as many equal sections of that; None where the
            model counts columns.
        batch: Number of rows.
        start: Columns that are cached.
        num_new: Columns of new tokens.

    Raises:
        ValueError: They have another shape, or sections that differ.
    """
    if position_ids is None:
        return [list(range(start, start + num_new))] * batch
    if position_ids.ndim == 3:
        if not bool((position_ids == position_ids[:1]).all()):
            raise ValueError("position_ids must be equal in all sections, got different ones")
        position_ids = position_ids[0]
    if tuple(position_ids.shape) not in ((batch, num_new), (1, num_new)):
        raise ValueError(
            f"position_ids must have shape ({batch}, {num_new}), got {tuple(position_ids.shape)}; "
            "a filled cache needs ids and a mask of full length: cache.inputs(new_ids)"
        )
    return position_ids.expand(batch, -1).tolist()
