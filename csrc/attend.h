// attention over spans, one layer, the query turned back once per span
#pragma once

#include "lanes/lanes.h"
#include "view.h"

namespace agentprim {

struct Attend {
  View query;     // [1, batch, heads, queries, k_dim]: pages are rows of the batch
  View k_cache;   // one layer
  View v_cache;   // one layer
  Dtype dtype;
  Spans spans;
  Rotation rotation;             // one layer
  const int32_t* span_starts;    // [batch + 1]
  const int32_t* positions;      // [batch, queries], negative sees nothing
  const int32_t* key_positions;  // [num_gapped], or null
  int64_t num_gapped;
  float scale;
  int64_t window;      // 0 is unlimited
  float softcap;       // 0 is off
  const float* sinks;  // [heads], or null
  bool interleaved;
  char* out;  // [batch, queries, heads, v_dim]
  float* lse;  // [batch, heads, queries]
};

void attend(const Attend& call, int64_t threads, const Lanes& lanes);

}  // namespace agentprim
