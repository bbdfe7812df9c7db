#include "stream.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace agentprim {

#ifdef __SSE2__

void stream(char* to, const char* from, int64_t bytes, const char* ahead) {
  const int64_t before = std::min<int64_t>(-reinterpret_cast<uintptr_t>(to) % 64, bytes);
  std::memcpy(to, from, before);
  int64_t at = before;
  for (; at + 64 <= bytes; at += 64) {
    __builtin_prefetch(ahead + at);
    for (int64_t part = at; part < at + 64; part += 16) {
      const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + part));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + part), x);
    }
  }
  std::memcpy(to + at, from + at, bytes - at);
}

void end_streams() { _mm_sfence(); }

#else

void stream(char* to, const char* from, int64_t bytes, const char*) {
  std::memcpy(to, from, bytes);
}

void end_streams() {}

#endif

}  // namespace agentprim
