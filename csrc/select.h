#pragma once

#include "runs.h"

namespace agentprim {

// copy chosen tokens to slots of their own, each key turned by its row
void select(const Ends& ends, const int64_t* slot_mapping, const int64_t* source_slots,
            const int32_t* rows, int64_t num_tokens, const Rotation& rotation, bool interleaved,
            int64_t threads, const Lanes& lanes);

}  // namespace agentprim
