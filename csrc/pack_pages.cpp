#include "pack_pages.h"

#include <cstring>

#include "parallel.h"

namespace agentprim {

Packing with_long_rows(Packing packing) {
  View& cache = packing.cache;
  if (cache.slot_stride != cache.row_bytes()) return packing;
  cache.dim *= cache.page_size;
  cache.page_size = 1;
  if (cache.head_stride != cache.row_bytes()) return packing;
  cache.dim *= cache.heads;
  cache.heads = 1;
  return packing;
}

int64_t unit_bytes(const Packing& packing) {
  const View& cache = packing.cache;
  const uint64_t bits = reinterpret_cast<uintptr_t>(packing.packed) |
                        reinterpret_cast<uintptr_t>(cache.data) | cache.layer_stride |
                        cache.page_stride | cache.head_stride | cache.slot_stride |
                        cache.row_bytes();
  int64_t bytes = 16;
  while (bytes > 2 && bits % bytes) bytes /= 2;
  return bytes;
}

void pack_pages(const Packing& whole, const int32_t* pages, int64_t num_pages, int64_t threads) {
  const Packing packing = with_long_rows(whole);
  const int64_t bytes = packing.cache.row_bytes(), rows = num_pages * packing.rows_of_page();
  parallel_for(rows, threads, 2 * rows * bytes, [&](int64_t row) {
    const RowCopy at = locate(packing, pages, row);
    std::memcpy(at.out, at.in, bytes);
  });
}

}  // namespace agentprim
