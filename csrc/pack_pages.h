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

// the largest unit that every address, stride and length is a multiple of, in bytes: 16, 8, 4 or 2
int64_t unit_bytes(const Packing& packing);

struct alignas(16) Unit16 { uint64_t low, high; };

// what one lane of one warp does on the device: warps share out the rows, lanes the units of a row
template <typename Unit>
AP_HD void copy_rows(const Packing& packing, const int32_t* pages, int64_t rows, int64_t warp,
                     int64_t num_warps, int64_t lane) {
  constexpr int kLanes = 32;
  constexpr int kUnroll = 4;  // few blocks reach the bandwidth only with many loads on their way
  const int64_t units = packing.cache.dim * packing.cache.item / int64_t{sizeof(Unit)};
  for (int64_t row = warp; row < rows; row += num_warps) {
    const RowCopy at = locate(packing, pages, row);
    Unit* __restrict__ out = reinterpret_cast<Unit*>(at.out);
    const Unit* __restrict__ in = reinterpret_cast<const Unit*>(at.in);
    int64_t i = lane;
    for (; i + (kUnroll - 1) * kLanes < units; i += kUnroll * kLanes) {
      Unit held[kUnroll];
      for (int j = 0; j < kUnroll; ++j) held[j] = in[i + j * kLanes];
      for (int j = 0; j < kUnroll; ++j) out[i + j * kLanes] = held[j];
    }
    for (; i < units; i += kLanes) out[i] = in[i];
  }
}

// join slots, then heads, that follow each other without a gap into longer rows
Packing with_long_rows(Packing packing);

// pages were checked by the caller
void pack_pages(const Packing& packing, const int32_t* pages, int64_t num_pages, int64_t threads);

}  // namespace agentprim
