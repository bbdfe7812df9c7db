// write what will not be read soon past the caches: a line that is overwritten as a whole need not
// be fetched first
#pragma once

#include <cstdint>

namespace agentprim {

// from so many written bytes on, caches would not keep them anyway
constexpr int64_t kStreamBytes = int64_t{32} << 20;

// other threads see what `Lanes::stream` has written only after this
void end_streams();

}  // namespace agentprim
