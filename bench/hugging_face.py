"""What there was before: Hugging Face's own way to read a text, and to move and join caches."""

import torch
from torch import Tensor
from transformers import DynamicCache

from agentprim.engine.load import cache_name
from agentprim_kernels.bench.plain import turned


@torch.no_grad()
def read(model, ids: list[int], cache: DynamicCache | None = None) -> tuple[Tensor, DynamicCache]:
    """Read ids by the model's own attention; return the last logits `[vocab]` and the cache."""
    tokens = torch.tensor([ids])
    cache = DynamicCache() if cache is None else cache
    mask = torch.ones(1, cache.get_seq_length() + len(ids), dtype=torch.long)
    output = model(
        input_ids=tokens, attention_mask=mask, use_cache=True, logits_to_keep=1,
        **{cache_name(model): cache},
    )  # fmt: skip
    return output.logits[0, -1], cache


def pairs(cache: DynamicCache) -> list[tuple[Tensor, Tensor]]:
    """List keys and values `[1, heads, tokens, dim]` of each layer."""
    return [(layer.keys, layer.values) for layer in cache.layers]


def angles(model, position: int) -> tuple[Tensor, Tensor]:
    """Return cos and sin `[1, 1, dim]` as the model computes them for one position."""
    weight = next(model.parameters())
    cos, sin = model.base_model.rotary_emb(weight, torch.tensor([[position]]))
    return cos, sin


def move_and_cat(
    before: tuple[Tensor, Tensor], behind: tuple[Tensor, Tensor], cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor]:
    """Turn the keys of what stands behind and concatenate one layer."""
    keys = torch.cat((before[0], turned(behind[0], cos, sin)), dim=2)
    return keys, torch.cat((before[1], behind[1]), dim=2)


def only_cat(
    before: tuple[Tensor, Tensor], behind: tuple[Tensor, Tensor], cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor]:
    """Concatenate one layer without turning: cheap, and wrong."""
    return torch.cat((before[0], behind[0]), dim=2), torch.cat((before[1], behind[1]), dim=2)
