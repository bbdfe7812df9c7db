#pragma once

#include "runs.h"

namespace agentprim {

// copy every token of the spans to a slot of its own, each key turned by its span's row
void materialize(const Ends& ends, const int64_t* slot_mapping, int64_t num_tokens,
                 const Spans& spans, const Rotation& rotation, bool interleaved, int64_t threads,
                 const Lanes& lanes);

}  // namespace agentprim
