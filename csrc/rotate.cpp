#include "rotate.h"

#include <algorithm>
#include <vector>

#include "parallel.h"

namespace agentprim {

namespace {

// the slots of a span in one page
struct Part {
  int64_t page, offset, count, span;
};

}  // namespace

void rotate(const View& k_cache, Dtype dtype, const Spans& spans, const Rotation& rotation,
            bool interleaved, int64_t threads, const Lanes& lanes) {
  check_spans(spans, k_cache.pages, k_cache.page_size);
  std::vector<Part> parts;
  int64_t tokens = 0;
  for (int64_t index = 0; index < spans.count; ++index) {
    const auto visit = [&](int64_t page, int64_t offset, int64_t count, int64_t) {
      parts.push_back({page, offset, count, index});
      tokens += count;
    };
    for_each_page(spans, spans.rows[index], k_cache.page_size, visit);
  }
  const auto turn = lanes.turn[static_cast<int>(dtype)];
  const int64_t count = parts.size(), some = share(count * k_cache.layers, threads);
  const int64_t shares = (count + some - 1) / some;
  const int64_t bytes = 2 * tokens * k_cache.layers * k_cache.heads * k_cache.row_bytes();
  parallel_for(k_cache.layers * shares, threads, bytes, [&](int64_t task) {
    const int64_t layer = task / shares, begin = task % shares * some;
    const auto keys_of = [&](const Part& part, int64_t head) {
      return k_cache.at(layer, part.page, head, part.offset);
    };
    const int64_t end = std::min(begin + some, count);
    // heads of a page lie one behind the other
    for (int64_t i = begin; i < end; ++i) {
      const Part& part = parts[i];
      for (int64_t head = 0; head < k_cache.heads; ++head) {
        char* keys = keys_of(part, head);
        const bool last = head + 1 == k_cache.heads;
        const char* ahead = last ? keys_of(parts[i + 1 < end ? i + 1 : i], 0)
                                 : keys_of(part, head + 1);
        turn({keys, k_cache.slot_stride, keys, k_cache.slot_stride, part.count, ahead},
             rotation.cos(layer, part.span), rotation.sin(layer, part.span), rotation.half,
             interleaved);
      }
    }
  });
}

}  // namespace agentprim
