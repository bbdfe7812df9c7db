// copy pages of a cache to and from memory without gaps, on the host or on the device
#pragma once

#include <cstdint>

#include "copy_pages.h"
#include "floats.h"
#include "view.h"

namespace agentprim {

struct Packing {
  View cache;
  char* packed;  // [num_pages][layers][heads][page_size][dim]
  bool unpacks;  // from `packed` to the cache

  int64_t rows_of_page() const { return cache.layers * cache.heads * cache.page_size; }
  int64_t bytes_of_page() const { return rows_of_page() * cache.row_bytes(); }
};

// find one of the contiguous rows that make up the copy
AP_HD RowCopy locate(const Packing& packing, const int32_t* pages, int64_t row) {
  const View& cache = packing.cache;
  char* packed = packing.packed + row * cache.dim * cache.item;
  const int64_t slot = row % cache.page_size;
  row /= cache.page_size;
  const int64_t head = row % cache.heads;
  row /= cache.heads;
  const int64_t layer = row % cache.layers;
  const int64_t page = pages[row / cache.layers];
  char* stored = cache.data + layer * cache.layer_stride + page * cache.page_stride +
                 head * cache.head_stride + slot * cache.slot_stride;
  return packing.unpacks ? RowCopy{stored, packed} : RowCopy{packed, stored};
}

// join slots, then heads, that follow each other without a gap into longer rows
Packing with_long_rows(Packing packing);

// pages were checked by the caller
void pack_pages(const Packing& packing, const int32_t* pages, int64_t num_pages, int64_t threads);

}  // namespace agentprim
