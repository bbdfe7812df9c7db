#pragma once

#include "runs.h"

namespace agentprim {

// copy new keys and values, [layers, batch, heads, tokens, dim], to their slots
void store(const Ends& ends, const int64_t* slot_mapping, int64_t threads, const Lanes& lanes);

}  // namespace agentprim
