#include "select.h"

#include <stdexcept>
#include <string>

namespace agentprim {

void select(const Ends& ends, const int64_t* slot_mapping, const int64_t* source_slots,
            const int32_t* rows, int64_t num_tokens, const Rotation& rotation, bool interleaved,
            int64_t threads, const Lanes& lanes) {
  Runs runs(ends);
  for (int64_t token = 0; token < num_tokens; ++token) {
    if (slot_mapping[token] >= 0 && (rows[token] < 0 || rows[token] >= rotation.rows)) {
      throw std::invalid_argument("rows must be in 0.." + std::to_string(rotation.rows - 1) +
                                  ", got " + std::to_string(rows[token]));
    }
    runs.add(source_slots[token], slot_mapping[token], rows[token]);
  }
  runs.move(rotation, interleaved, threads, lanes);
}

}  // namespace agentprim
