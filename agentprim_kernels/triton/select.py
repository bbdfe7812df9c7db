"""Select tokens: a program moves some tokens of some heads of one layer."""

import triton
import triton.language as tl
from torch import Tensor

from agentprim_kernels.triton.launch import (
    MOST_REGISTERS,
    cdiv,
    copy_widths,
    fixed_page_size,
    launch,
    token_tile,
)
from agentprim_kernels.triton.rows import copy_rows, load_rotation, place, turn_rows


@triton.jit(do_not_specialize=["num_tokens", "num_heads", "out_page_size", "page_size"])
def select_kernel(
    out_k,  # [group_layers, out_pages, num_kv_heads, out_page_size, K_DIM]
    out_v,  # [group_layers, out_pages, num_kv_heads, out_page_size, V_DIM]
    slot_mapping,  # [num_tokens]
    k_cache,  # [group_layers, num_pages, num_kv_heads, page_size, K_DIM]
    v_cache,  # [group_layers, num_pages, num_kv_heads, page_size, V_DIM]
    source_slots,  # [num_tokens]
    rows,  # [num_tokens]
    rotation,  # [group_layers, num_rows, 2, HALF]
    out_k_layer,
    out_k_page,
    out_k_head,
    out_k_slot,
    out_v_layer,
    out_v_page,
    out_v_head,
    out_v_slot,
    k_layer,
    k_page,
    k_head,
    k_slot,
    v_layer,
    v_page,
    v_head,
    v_slot,
    rotation_layer,
    num_tokens,
    num_heads,
    out_page_size,
    page_size,
    HALF: tl.constexpr,
    HALF_PAD: tl.constexpr,
    K_DIM: tl.constexpr,
    REST_PAD: tl.constexpr,
    V_DIM: tl.constexpr,
    V_PAD: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    OUT_PAGE_SIZE: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    TOKENS: tl.constexpr,
    HEADS: tl.constexpr,
):
    layer = tl.program_id(2).to(tl.int64)
    row = tl.arange(0, TOKENS * HEADS)
    token = tl.program_id(0) * TOKENS + row % TOKENS
    head = (tl.program_id(1) * HEADS + row // TOKENS).to(tl.int64)
    inside = (token < num_tokens) & (head < num_heads)
    slot = tl.load(slot_mapping + token, mask=inside, other=-1)
    live = inside & (slot >= 0)
    out_page, out_offset = place(slot, out_page_size, OUT_PAGE_SIZE)
    source = tl.load(source_slots + token, mask=live, other=0)
    page, offset = place(source, page_size, PAGE_SIZE)

    to_v = out_v + layer * out_v_layer + head * out_v_head
    to_v += out_page * out_v_page + out_offset * out_v_slot
    from_v = v_cache + layer * v_layer + page * v_page + head * v_head + offset * v_slot
    copy_rows(to_v[:, None], from_v[:, None], live[:, None], 0, V_DIM, V_PAD)

    to_k = out_k + layer * out_k_layer + head * out_k_head
    to_k += out_page * out_k_page + out_offset * out_k_slot
    from_k = k_cache + layer * k_layer + page * k_page + head * k_head + offset * k_slot
    if HALF > 0:
        turn = tl.load(rows + token, mask=live, other=0).to(tl.int64) * (2 * HALF)
        turn = rotation + layer * rotation_layer + turn
        cos, sin = load_rotation(turn[:, None], live[:, None], HALF, HALF_PAD)
        turn_rows(
            to_k[:, None], from_k[:, None], live[:, None], cos, sin, TOKENS * HEADS, HALF,
            HALF_PAD, INTERLEAVED,
        )  # fmt: skip
    if 2 * HALF < K_DIM:
        copy_rows(to_k[:, None], from_k[:, None], live[:, None], 2 * HALF, K_DIM, REST_PAD)


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
    interleaved: bool,
) -> None:
    layers, _, heads, page_size, k_dim = k_cache.shape
    tokens = slot_mapping.numel()
    token_block, head_block = token_tile(max(k_dim, v_cache.shape[-1]), tokens, heads)
    launch(
        select_kernel, (cdiv(tokens, token_block), cdiv(heads, head_block), layers),
        out_k, out_v, slot_mapping, k_cache, v_cache, source_slots, rows, rotation,
        *out_k.stride()[:4], *out_v.stride()[:4], *k_cache.stride()[:4], *v_cache.stride()[:4],
        rotation.stride(0),
        tokens, heads, out_k.shape[3], page_size,
        **copy_widths(k_cache, v_cache, rotation.shape[-1]), INTERLEAVED=interleaved,
        OUT_PAGE_SIZE=fixed_page_size(out_k), PAGE_SIZE=fixed_page_size(k_cache),
        TOKENS=token_block, HEADS=head_block,
        maxnreg=MOST_REGISTERS,
    )  # fmt: skip
