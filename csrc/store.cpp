#include "store.h"

namespace agentprim {

void store(const Ends& ends, const int64_t* slot_mapping, int64_t threads, const Lanes& lanes) {
  // a batch of new tokens is a cache with one page a row
  const int64_t tokens = ends.k_cache.pages * ends.k_cache.page_size;
  Runs runs(ends);
  for (int64_t token = 0; token < tokens; ++token) runs.add(token, slot_mapping[token], 0);
  runs.move(Rotation{nullptr, 0, 0, 0}, false, threads, lanes);
}

}  // namespace agentprim
