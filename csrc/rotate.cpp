#include "rotate.h"

#include "parallel.h"

namespace agentprim {

void rotate(const View& k_cache, Dtype dtype, const Spans& spans, const Rotation& rotation,
            bool interleaved, int64_t threads, const Lanes& lanes) {
  check_spans(spans, k_cache.pages, k_cache.page_size);
  const auto turn = lanes.turn[static_cast<int>(dtype)];
  int64_t tokens = 0;
  for (int64_t index = 0; index < spans.count; ++index) tokens += spans.rows[index].length;
  const int64_t rows = k_cache.layers * k_cache.heads;
  parallel_for(rows, threads, 2 * tokens * rows * k_cache.row_bytes(), [&](int64_t task) {
    const int64_t layer = task / k_cache.heads, head = task % k_cache.heads;
    for (int64_t index = 0; index < spans.count; ++index) {
      const float* cos = rotation.cos(layer, index);
      const float* sin = rotation.sin(layer, index);
      const auto visit = [&](int64_t page, int64_t offset, int64_t count, int64_t) {
        char* keys = k_cache.at(layer, page, head, offset);
        turn(keys, k_cache.slot_stride, keys, k_cache.slot_stride, count, cos, sin, rotation.half,
             interleaved);
      };
      for_each_page(spans, spans.rows[index], k_cache.page_size, visit);
    }
  });
}

}  // namespace agentprim
