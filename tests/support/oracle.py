"""The join oracle: one uncached forward in which the parts of a cache cannot see each other."""

import torch
from torch import Tensor, nn


def blocked_logits(
    model: nn.Module,
    parts: list[list[int]],
    query: list[int],
    *,
    starts: list[int] | None = None,
) -> Tensor:
    """Run `parts + query` as one text in which no part sees another and the query sees all.

    Args:
        model: The untouched twin of the model under test.
        parts: Ids of each part.
        query: Ids that see every part.
        starts: Position of the first token of each part and of the query; consecutive by default.

    Returns:
        Logits of the query `[len(query), vocab]`.
    """
    pieces = [*parts, query]
    if starts is None:
        starts = [sum(map(len, pieces[:i])) for i in range(len(pieces))]
    ids = torch.tensor([i for piece in pieces for i in piece])
    positions = torch.tensor(
        [start + i for start, piece in zip(starts, pieces, strict=True) for i in range(len(piece))]
    )
    owner = torch.tensor([n for n, piece in enumerate(pieces) for _ in piece])
    order = torch.arange(len(ids))
    seen = positions[None, :] <= positions[:, None]
    seen &= (owner[:, None] == owner[None, :]) | (owner[:, None] == len(parts))
    seen &= (owner[None, :] != owner[:, None]) | (order[None, :] <= order[:, None])
    with torch.no_grad():
        output = model(
            input_ids=ids[None],
            position_ids=positions[None],
            attention_mask=masks(model, seen, positions, positions),
            use_cache=False,
        )
    return output.logits[0, -len(query) :]


def masks(
    model: nn.Module, seen: Tensor, positions: Tensor, key_positions: Tensor
) -> Tensor | dict[str, Tensor]:
    """Turn visibility into what each kind of layer takes: an additive mask, with its window.

    Args:
        model: Whose layers it is for.
        seen: bool `[queries, keys]`; the window is taken off here.
        positions: Of the queries.
        key_positions: Of the keys.
    """
    window = getattr(model.config, "sliding_window", None)
    distance = positions[:, None] - key_positions[None, :]
    near = seen & (distance < window) if window else seen
    kinds = set(getattr(model.config, "layer_types", None) or ())
    if len(kinds) > 1 or kinds == {"sliding_attention"}:
        return {"full_attention": _additive(seen), "sliding_attention": _additive(near)}
    return _additive(near)


def _additive(seen: Tensor) -> Tensor:
    return torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)[None, None]
