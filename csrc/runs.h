// move tokens between slots: the common core of store, select and materialize
#pragma once

#include <cstdint>
#include <vector>

#include "lanes/lanes.h"
#include "view.h"

namespace agentprim {

// tokens whose slots follow each other in one page, at both ends
struct Run {
  int64_t source_page, source_offset, target_page, target_offset, count, row;
};

// keys and values of the two ends, alike in layers, heads, dims and dtype
struct Ends {
  View out_k, out_v, k_cache, v_cache;
  Dtype dtype;
};

class Runs {
 public:
  explicit Runs(const Ends& ends) : ends_(ends) {}

  // append a token; throws where a slot is outside of its cache. A negative target is skipped.
  void add(int64_t source, int64_t target, int64_t row);
  // keys are turned by row `row` of the rotation; a half of 0 turns nothing
  void move(const Rotation& rotation, bool interleaved, int64_t threads, const Lanes& lanes) const;

 private:
  Ends ends_;
  std::vector<Run> runs_;
  int64_t tokens_ = 0;
};

}  // namespace agentprim
