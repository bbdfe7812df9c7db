// write what will not be read soon past the caches: a line that is overwritten as a whole need not
// be fetched first
#pragma once

#include <cstdint>

namespace agentprim {

// from so many written bytes on, caches would not keep them anyway
constexpr int64_t kStreamBytes = int64_t{32} << 20;

// memcpy whose writes other threads see only after `end_streams`; meanwhile the bytes at `ahead`,
// which will be read next, come closer
void stream(char* to, const char* from, int64_t bytes, const char* ahead);
void end_streams();

}  // namespace agentprim
