#include "view.h"

#include <stdexcept>
#include <string>

namespace agentprim {

void check_spans(const Spans& spans, int64_t num_pages, int64_t page_size) {
  for (int64_t index = 0; index < spans.count; ++index) {
    const Span& span = spans.rows[index];
    if (span.length <= 0) continue;
    const int64_t last = span.page_start + (int64_t{span.first_slot} + span.length - 1) / page_size;
    if (span.page_start < 0 || span.first_slot < 0 || last >= spans.num_entries) {
      throw std::invalid_argument("spans must stay inside page_table of " +
                                  std::to_string(spans.num_entries) + " entries, got span " +
                                  std::to_string(index) + " up to entry " + std::to_string(last));
    }
    for (int64_t entry = span.page_start + span.first_slot / page_size; entry <= last; ++entry) {
      const int64_t page = spans.page_table[entry];
      if (page < 0 || page >= num_pages) {
        throw std::invalid_argument("page_table must have pages in 0.." +
                                    std::to_string(num_pages - 1) + ", got " +
                                    std::to_string(page));
      }
    }
  }
}

}  // namespace agentprim
