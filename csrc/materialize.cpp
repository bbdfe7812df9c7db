#include "materialize.h"

#include <stdexcept>
#include <string>

namespace agentprim {

void materialize(const Ends& ends, const int64_t* slot_mapping, int64_t num_tokens,
                 const Spans& spans, const Rotation& rotation, bool interleaved, int64_t threads,
                 const Lanes& lanes) {
  const int64_t page_size = ends.k_cache.page_size;
  check_spans(spans, ends.k_cache.pages, page_size);
  int64_t length = 0;
  for (int64_t index = 0; index < spans.count; ++index) length += spans.rows[index].length;
  if (length != num_tokens) {
    throw std::invalid_argument("slot_mapping must have " + std::to_string(length) +
                                " entries, got " + std::to_string(num_tokens));
  }
  Runs runs(ends);
  for (int64_t index = 0; index < spans.count; ++index) {
    const auto visit = [&](int64_t page, int64_t offset, int64_t count, int64_t) {
      for (const int64_t end = offset + count; offset < end; ++offset) {
        runs.add(page * page_size + offset, *slot_mapping++, index);
      }
    };
    for_each_page(spans, spans.rows[index], page_size, visit);
  }
  runs.move(rotation, interleaved, threads, lanes);
}

}  // namespace agentprim
