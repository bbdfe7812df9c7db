"""Store new keys and values: a program moves some tokens of some heads of one layer."""

import triton
import triton.language as tl
from torch import Tensor

from agentprim_kernels.triton.launch import (
    MOST_REGISTERS,
    cdiv,
    fixed_page_size,
    launch,
    next_power_of_2,
    token_tile,
)
from agentprim_kernels.triton.rows import copy_rows, place


@triton.jit(do_not_specialize=["batch_tokens", "num_tokens", "num_heads", "page_size"])
def store_kernel(
    k_cache,  # [group_layers, num_pages, num_kv_heads, page_size, K_DIM]
    v_cache,  # [group_layers, num_pages, num_kv_heads, page_size, V_DIM]
    slot_mapping,  # [batch, num_tokens]
    keys,  # [group_layers, batch, num_kv_heads, num_tokens, K_DIM]
    values,  # [group_layers, batch, num_kv_heads, num_tokens, V_DIM]
    k_layer,
    k_page,
    k_head,
    k_slot,
    v_layer,
    v_page,
    v_head,
    v_slot,
    keys_layer,
    keys_batch,
    keys_head,
    keys_token,
    values_layer,
    values_batch,
    values_head,
    values_token,
    batch_tokens,
    num_tokens,
    num_heads,
    page_size,
    K_DIM: tl.constexpr,
    K_PAD: tl.constexpr,
    V_DIM: tl.constexpr,
    V_PAD: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    TOKENS: tl.constexpr,
    HEADS: tl.constexpr,
):
    layer = tl.program_id(2).to(tl.int64)
    row = tl.arange(0, TOKENS * HEADS)
    flat = tl.program_id(0) * TOKENS + row % TOKENS  # token in [batch, num_tokens]
    head = (tl.program_id(1) * HEADS + row // TOKENS).to(tl.int64)
    inside = (flat < batch_tokens) & (head < num_heads)
    slot = tl.load(slot_mapping + flat, mask=inside, other=-1)
    live = inside & (slot >= 0)
    page, offset = place(slot, page_size, PAGE_SIZE)
    batch = (flat // num_tokens).to(tl.int64)
    token = (flat % num_tokens).to(tl.int64)

    source = keys + layer * keys_layer
    source += batch * keys_batch + head * keys_head + token * keys_token
    out = k_cache + layer * k_layer + page * k_page + head * k_head + offset * k_slot
    copy_rows(out[:, None], source[:, None], live[:, None], 0, K_DIM, K_PAD)

    source = values + layer * values_layer
    source += batch * values_batch + head * values_head + token * values_token
    out = v_cache + layer * v_layer + page * v_page + head * v_head + offset * v_slot
    copy_rows(out[:, None], source[:, None], live[:, None], 0, V_DIM, V_PAD)


def store_(
    k_cache: Tensor, v_cache: Tensor, slot_mapping: Tensor, keys: Tensor, values: Tensor
) -> None:
    layers, _, heads, page_size, k_dim = k_cache.shape
    v_dim, tokens = v_cache.shape[-1], slot_mapping.numel()
    token_block, head_block = token_tile(max(k_dim, v_dim), tokens, heads)
    launch(
        store_kernel, (cdiv(tokens, token_block), cdiv(heads, head_block), layers),
        k_cache, v_cache, slot_mapping, keys, values,
        *k_cache.stride()[:4], *v_cache.stride()[:4], *keys.stride()[:4], *values.stride()[:4],
        tokens, slot_mapping.shape[1], heads, page_size,
        K_DIM=k_dim, K_PAD=next_power_of_2(k_dim), V_DIM=v_dim, V_PAD=next_power_of_2(v_dim),
        PAGE_SIZE=fixed_page_size(k_cache), TOKENS=token_block, HEADS=head_block,
        maxnreg=MOST_REGISTERS,
    )  # fmt: skip
