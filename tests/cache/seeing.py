"""One uncached forward in which each token sees what a test says: the oracle of cut caches."""

import torch
from torch import Tensor, nn


def seeing_logits(model: nn.Module, ids: list[int], positions: list[int], seen: Tensor) -> Tensor:
    """Run ids at given positions under a visibility of its own.

    Args:
        model: An untouched model whose layers all have the same window, or none.
        ids: One text.
        positions: Of each id.
        seen: bool `[len(ids), len(ids)]`; the model's window is taken off here.

    Returns:
        Logits `[len(ids), vocab]`.
    """
    where = torch.tensor(positions)
    window = getattr(model.config, "sliding_window", None)
    if window:
        seen = seen & (where[:, None] - where[None, :] < window)
    mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
    with torch.no_grad():
        return model(
            input_ids=torch.tensor([ids]), position_ids=where[None],
            attention_mask=mask[None, None], use_cache=False,
        ).logits[0]  # fmt: skip


def without(count: int, dropped: list[int], until: int) -> Tensor:
    """Make a causal visibility in which tokens from `until` on do not see some earlier ones."""
    seen = torch.ones(count, count).tril().bool()
    seen[until:, dropped] = False
    return seen
