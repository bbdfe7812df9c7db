"""Materialize spans: a program moves some tokens of some heads of one layer."""

import triton
import triton.language as tl
from torch import Tensor

from agentprim_kernels.triton.launch import (
    MOST_REGISTERS,
    cdiv,
    copy_widths,
    fixed_page_size,
    launch,
    span_block,
    token_tile,
)
from agentprim_kernels.triton.rows import copy_rows, load_rotation, place, turn_rows


@triton.jit(
    do_not_specialize=["num_tokens", "num_heads", "num_spans", "out_page_size", "page_size"]
)
def materialize_kernel(
    out_k,  # [group_layers, out_pages, num_kv_heads, out_page_size, K_DIM]
    out_v,  # [group_layers, out_pages, num_kv_heads, out_page_size, V_DIM]
    slot_mapping,  # [num_tokens]
    k_cache,  # [group_layers, num_pages, num_kv_heads, page_size, K_DIM]
    v_cache,  # [group_layers, num_pages, num_kv_heads, page_size, V_DIM]
    page_table,  # [num_entries]
    spans,  # [num_spans, 5]
    rotation,  # [group_layers, num_spans, 2, HALF]
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
    num_spans,
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
    SPANS: tl.constexpr,
):
    layer = tl.program_id(2).to(tl.int64)
    first_token = tl.program_id(0) * TOKENS
    row = tl.arange(0, TOKENS * HEADS)
    token = first_token + row % TOKENS
    head = (tl.program_id(1) * HEADS + row // TOKENS).to(tl.int64)
    inside = (token < num_tokens) & (head < num_heads)
    slot = tl.load(slot_mapping + token, mask=inside, other=-1)
    inside &= slot >= 0
    out_page, out_offset = place(slot, out_page_size, OUT_PAGE_SIZE)
    to_k = out_k + layer * out_k_layer + head * out_k_head
    to_k += out_page * out_k_page + out_offset * out_k_slot
    to_v = out_v + layer * out_v_layer + head * out_v_head
    to_v += out_page * out_v_page + out_offset * out_v_slot

    # the spans that own these tokens: one, or the few that meet inside the tile
    index = tl.arange(0, SPANS)
    lengths = tl.load(spans + 5 * index + 2, mask=index < num_spans, other=0)
    ends = tl.cumsum(lengths, 0)
    starts = ends - lengths
    touched = (starts < first_token + TOKENS) & (ends > first_token) & (lengths > 0)
    first = tl.min(tl.where(touched, index, SPANS), 0).to(tl.int64)
    last = tl.max(tl.where(touched, index, -1), 0).to(tl.int64)
    for span in range(first, last + 1):
        local = token - tl.sum(tl.where(index == span, starts, 0), 0)
        length = tl.load(spans + 5 * span + 2)
        live = inside & (local >= 0) & (local < length)
        entry, offset = place(tl.load(spans + 5 * span + 1) + local, page_size, PAGE_SIZE)
        entry = entry.to(tl.int64) + tl.load(spans + 5 * span)
        page = tl.load(page_table + entry, mask=live, other=0).to(tl.int64)
        offset = offset.to(tl.int64)
        from_k = k_cache + layer * k_layer + page * k_page + head * k_head + offset * k_slot
        from_v = v_cache + layer * v_layer + page * v_page + head * v_head + offset * v_slot
        copy_rows(to_v[:, None], from_v[:, None], live[:, None], 0, V_DIM, V_PAD)
        if HALF > 0:
            turn = rotation + layer * rotation_layer + span * (2 * HALF)
            cos, sin = load_rotation(turn, True, HALF, HALF_PAD)
            turn_rows(
                to_k[:, None], from_k[:, None], live[:, None], cos, sin, TOKENS * HEADS, HALF,
                HALF_PAD, INTERLEAVED,
            )  # fmt: skip
        if 2 * HALF < K_DIM:
            copy_rows(to_k[:, None], from_k[:, None], live[:, None], 2 * HALF, K_DIM, REST_PAD)


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
    layers, _, heads, page_size, k_dim = k_cache.shape
    tokens = slot_mapping.numel()
    token_block, head_block = token_tile(max(k_dim, v_cache.shape[-1]), tokens, heads)
    launch(
        materialize_kernel, (cdiv(tokens, token_block), cdiv(heads, head_block), layers),
        out_k, out_v, slot_mapping, k_cache, v_cache, page_table, spans, rotation,
        *out_k.stride()[:4], *out_v.stride()[:4], *k_cache.stride()[:4], *v_cache.stride()[:4],
        rotation.stride(0),
        tokens, heads, spans.shape[0], out_k.shape[3], page_size,
        **copy_widths(k_cache, v_cache, rotation.shape[-1]), INTERLEAVED=interleaved,
        OUT_PAGE_SIZE=fixed_page_size(out_k), PAGE_SIZE=fixed_page_size(k_cache),
        TOKENS=token_block, HEADS=head_block, SPANS=span_block(spans),
        maxnreg=MOST_REGISTERS,
    )  # fmt: skip
