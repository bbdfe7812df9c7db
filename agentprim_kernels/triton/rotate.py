"""Rotate stored keys in place: a program turns some rows of one page of one layer."""

import triton
import triton.language as tl
from torch import Tensor

from agentprim_kernels.triton.launch import (
    MOST_REGISTERS,
    cdiv,
    fixed_page_size,
    launch,
    next_power_of_2,
    row_tile,
    span_block,
)
from agentprim_kernels.triton.rows import load_rotation, place, turn_rows


@triton.jit(do_not_specialize=["num_spans", "num_rows", "num_tiles", "page_size"])
def rotate_kernel(
    k_cache,  # [group_layers, num_pages, num_kv_heads, page_size, k_dim]
    page_table,  # [num_entries]
    spans,  # [num_spans, 5]
    rotation,  # [group_layers, num_spans, 2, HALF]
    k_layer,
    k_page,
    k_head,
    k_slot,
    rotation_layer,
    num_spans,
    num_rows,
    num_tiles,
    page_size,
    HALF: tl.constexpr,
    HALF_PAD: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    SPANS: tl.constexpr,
):
    entry = tl.program_id(0) // num_tiles
    tile = tl.program_id(0) % num_tiles
    layer = tl.program_id(1).to(tl.int64)
    size = PAGE_SIZE if PAGE_SIZE > 0 else page_size
    page = tl.load(page_table + entry).to(tl.int64)
    row = tile * ROWS + tl.arange(0, ROWS)
    head, offset = place(row, page_size, PAGE_SIZE)
    source = k_cache + layer * k_layer + page * k_page
    source += head.to(tl.int64) * k_head + offset.to(tl.int64) * k_slot

    # find the spans of this entry: nearly always one, but spans may share a page's entry
    index = tl.arange(0, SPANS)
    present = index < num_spans
    local = entry - tl.load(spans + 5 * index, mask=present, other=0)
    begin = tl.load(spans + 5 * index + 1, mask=present, other=0).to(tl.int64)
    end = begin + tl.load(spans + 5 * index + 2, mask=present, other=0)
    at = local.to(tl.int64) * size
    touched = present & (local >= 0) & (at < end) & (at + size > begin)
    first = tl.min(tl.where(touched, index, SPANS), 0).to(tl.int64)
    last = tl.max(tl.where(touched, index, -1), 0).to(tl.int64)
    for span in range(first, last + 1):
        begin_of_span = tl.load(spans + 5 * span + 1).to(tl.int64)
        end_of_span = begin_of_span + tl.load(spans + 5 * span + 2)
        local_page = entry - tl.load(spans + 5 * span)
        here = local_page.to(tl.int64) * size + offset
        live = (row < num_rows) & (here >= begin_of_span) & (here < end_of_span)
        live &= local_page >= 0
        turn = rotation + layer * rotation_layer + span * (2 * HALF)
        cos, sin = load_rotation(turn, True, HALF, HALF_PAD)
        turn_rows(
            source[:, None], source[:, None], live[:, None], cos, sin, ROWS, HALF, HALF_PAD,
            INTERLEAVED,
        )  # fmt: skip


def rotate_(
    k_cache: Tensor, page_table: Tensor, spans: Tensor, rotation: Tensor, *, interleaved: bool
) -> None:
    layers, _, heads, page_size, _ = k_cache.shape
    half, num_rows = rotation.shape[-1], heads * page_size
    half_pad = next_power_of_2(half)
    rows = row_tile(2 * half_pad, num_rows)
    num_tiles = cdiv(num_rows, rows)
    launch(
        rotate_kernel, (page_table.numel() * num_tiles, layers),
        k_cache, page_table, spans, rotation,
        *k_cache.stride()[:4], rotation.stride(0),
        spans.shape[0], num_rows, num_tiles, page_size,
        HALF=half, HALF_PAD=half_pad, INTERLEAVED=interleaved,
        PAGE_SIZE=fixed_page_size(k_cache), ROWS=rows, SPANS=span_block(spans),
        maxnreg=MOST_REGISTERS,
    )  # fmt: skip
