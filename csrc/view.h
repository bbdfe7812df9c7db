// raw memory of a cache and of a span table; Python has checked ranks, dtypes and devices
#pragma once

#include <cstdint>

#include "floats.h"

namespace agentprim {

// [layers, pages, heads, page_size, dim] with any strides (in bytes) and contiguous rows
struct View {
  char* data;
  int64_t layers, pages, heads, page_size, dim;
  int64_t layer_stride, page_stride, head_stride, slot_stride;
  int64_t item;  // bytes of an element

  int64_t row_bytes() const { return dim * item; }
  char* at(int64_t layer, int64_t page, int64_t head, int64_t offset) const {
    return data + layer * layer_stride + page * page_stride + head * head_stride +
           offset * slot_stride;
  }
};

struct Span {
  int32_t page_start, first_slot, length, position, positions_start;
};

struct Spans {
  const Span* rows;
  int64_t count;
  const int32_t* page_table;
  int64_t num_entries;
};

// cos/sin rows of each layer: [layers, rows, 2, half], `layer_stride` in elements
struct Rotation {
  const float* data;
  int64_t layer_stride, rows, half;

  const float* cos(int64_t layer, int64_t row) const {
    return data + layer * layer_stride + row * 2 * half;
  }
  const float* sin(int64_t layer, int64_t row) const { return cos(layer, row) + half; }
};

// throws before anything is written where a span leaves the page table or the cache
void check_spans(const Spans& spans, int64_t num_pages, int64_t page_size);

constexpr int64_t kLongestRun = 128;  // so that there is something to share among threads

// call `visit(page, offset, count, first)` for each run of slots of a span that stays in a page
// and is not too long
template <typename Visit>
void for_each_page(const Spans& spans, const Span& span, int64_t page_size, Visit visit) {
  for (int64_t first = 0; first < span.length;) {
    const int64_t slot = span.first_slot + first, offset = slot % page_size;
    const int64_t left = span.length - first, room = page_size - offset;
    const int64_t most = left < room ? left : room;
    const int64_t count = most < kLongestRun ? most : kLongestRun;
    visit(int64_t{spans.page_table[span.page_start + slot / page_size]}, offset, count, first);
    first += count;
  }
}

}  // namespace agentprim
