"""Caches and span tables of the size of a real model's, for the ops alone."""

from dataclasses import dataclass

import torch
from torch import Tensor

from agentprim_kernels.angles import rotation

KV_HEADS, HEADS, DIM, PAGE_SIZE = 8, 32, 128, 16
DTYPE = torch.bfloat16


@dataclass(frozen=True, kw_only=True)
class Data:
    """Random caches, pages in random order, and equal spans that have all moved.

    Attributes:
        k_cache, v_cache, page_table, spans, rotation: As the ops take them.
        cos, sin: The same angles for plain torch, one row a page in the order of `page_table`,
            `[num_pages, 1, 1, dim]`, in the dtype of the cache as Hugging Face has them.
    """

    k_cache: Tensor
    v_cache: Tensor
    page_table: Tensor
    spans: Tensor
    rotation: Tensor
    cos: Tensor
    sin: Tensor

    @property
    def tables(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return page table, spans and rotation."""
        return self.page_table, self.spans, self.rotation


def make(
    tokens: int, num_spans: int, layers: int, *, dtype: torch.dtype = DTYPE, device: str = "cpu"
) -> Data:
    """Make caches of `tokens` tokens in `num_spans` spans.

    Args:
        tokens: A multiple of `num_spans * PAGE_SIZE`.
        num_spans: Spans of equal length; the deltas are 1, 8, 15, ...
        layers: Layers of the group, which share their frequencies.
        dtype: Of the caches.
        device: Where everything is.
    """
    source = torch.Generator(device).manual_seed(0)
    options = {"generator": source, "device": device}
    pages = tokens // PAGE_SIZE
    shape = (layers, pages, KV_HEADS, PAGE_SIZE, DIM)
    caches = [torch.empty(shape, dtype=dtype, device=device) for _ in range(2)]
    for cache in caches:
        for layer in cache:
            layer.copy_(torch.randn(shape[1:], **options))
    each = tokens // num_spans
    rows = [[n * each // PAGE_SIZE, 0, each, n * each, -1] for n in range(num_spans)]
    turn = rotation([7 * n + 1 for n in range(num_spans)], frequencies(layers, device))
    of_pages = turn[0].repeat_interleave(pages // num_spans, dim=0).repeat(1, 1, 2).to(dtype)
    return Data(
        k_cache=caches[0], v_cache=caches[1],
        page_table=torch.randperm(pages, **options).int(),
        spans=torch.tensor(rows, dtype=torch.int32, device=device), rotation=turn,
        cos=of_pages[:, 0, None, None], sin=of_pages[:, 1, None, None],
    )  # fmt: skip


def frequencies(layers: int, device: str = "cpu") -> Tensor:
    """Return inv_freq `[layers, DIM / 2]`, one expanded row."""
    return (1e6 ** (-torch.arange(0, DIM, 2, device=device) / DIM)).expand(layers, -1)
