#pragma once

#include "lanes/lanes.h"
#include "view.h"

namespace agentprim {

// turn the stored keys of every span in place
void rotate(const View& k_cache, Dtype dtype, const Spans& spans, const Rotation& rotation,
            bool interleaved, int64_t threads, const Lanes& lanes);

}  // namespace agentprim
