// copy whole pages between two caches, on the host or on the device: one body, two drivers
#pragma once

#include <cstdint>

#include "floats.h"
#include "view.h"

namespace agentprim {

struct PageCopy {
  View out, in;          // alike in layers, heads, page_size, dim
  const int64_t* pairs;  // [num_pairs][2]: page of `out`, page of `in`; where the caches are
  int64_t num_pairs;

  int64_t rows() const { return num_pairs * in.layers * in.heads * in.page_size; }
};

struct RowCopy {
  char* out;
  const char* in;
};

// find one of the contiguous rows that make up the copy
AP_HD RowCopy locate(const PageCopy& copy, int64_t row) {
  const View &out = copy.out, &in = copy.in;
  const int64_t slot = row % in.page_size;
  row /= in.page_size;
  const int64_t head = row % in.heads;
  row /= in.heads;
  const int64_t layer = row % in.layers;
  const int64_t* pair = copy.pairs + 2 * (row / in.layers);
  return {out.data + layer * out.layer_stride + pair[0] * out.page_stride +
              head * out.head_stride + slot * out.slot_stride,
          in.data + layer * in.layer_stride + pair[1] * in.page_stride + head * in.head_stride +
              slot * in.slot_stride};
}

// join slots, then heads, that follow each other without a gap at both ends into longer rows
PageCopy with_long_rows(PageCopy copy);

// throws before any write where a page is outside of its cache
void copy_pages(const PageCopy& copy, int64_t threads);

// starts on a stream and returns; pages are on the device and cannot be checked
void copy_pages_cuda(const PageCopy& copy, int device, void* stream);

}  // namespace agentprim
