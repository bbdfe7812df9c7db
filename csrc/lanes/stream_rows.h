// write rows past the caches. A processor gathers the parts of a line before it writes them, and
// of few lines at a time: the larger the parts, the sooner it has room for the next line.
#pragma once

#include "lanes/turn_rows.h"

namespace agentprim {

namespace {

constexpr int64_t kLine = 64;

inline void stream(float* to, Vf v) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, v);
#elif defined(__AVX__)
  _mm256_stream_ps(to, v);
#elif defined(__SSE2__)
  _mm_stream_ps(to, v);
#else
  save(to, v);
#endif
}

inline void stream_bytes(char* to, const char* from, int64_t bytes, const char* ahead) {
  const int64_t over = -reinterpret_cast<uintptr_t>(to) % kLine;
  int64_t at = over < bytes ? over : bytes;
  if (at) __builtin_memcpy(to, from, at);
  for (; at + kLine <= bytes; at += kLine) {
    __builtin_prefetch(ahead + at);
    for (int64_t part = at; part < at + kLine; part += sizeof(Vf)) {
      const Vf v = load(reinterpret_cast<const float*>(from + part));
      stream(reinterpret_cast<float*>(to + part), v);
    }
  }
  if (at < bytes) __builtin_memcpy(to + at, from + at, bytes - at);
}

inline void stream_rows(const Turn& rows, int64_t row_bytes) {
  const bool whole = at_once(rows, row_bytes);
  const int64_t pieces = whole ? 1 : rows.count, bytes = whole ? rows.count * row_bytes : row_bytes;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t skipped = i * rows.in_stride;
    stream_bytes(rows.out + i * rows.out_stride, rows.in + skipped, bytes, rows.ahead + skipped);
  }
}

// turning keeps memory waiting unless the processor sees the values behind few keys
template <typename T>
void stream_turned(const Turned& all, const float* cos, const float* sin, int64_t half,
                   bool interleaved) {
  const int64_t turned = 2 * half * sizeof(T), rest = all.key_bytes - turned;
  constexpr int64_t kAngles = 256;  // more of them are put in order as often as they are used
  alignas(kLine) float ordered[2 * kAngles];
  const bool in_order = half <= kAngles && !interleaved;
  if (in_order) {
    put_in_order_of<T>(ordered, cos, half);
    put_in_order_of<T>(ordered + kAngles, sin, half);
  }
  for (int64_t first = 0; first < all.keys.count; first += all.aside_rows) {
    const Turn keys = some_rows(all.keys, first, all.aside_rows);
    const Turn aside{all.aside, all.key_bytes, keys.in, keys.in_stride, keys.count, keys.ahead};
    if (in_order) {
      turn_block<T, float>(aside, ordered, ordered + kAngles, half, false);
    } else {
      turn_block<T>(aside, cos, sin, half, interleaved);
    }
    for (int64_t i = 0; rest && i < keys.count; ++i) {
      __builtin_memcpy(aside.out + i * aside.out_stride + turned,
                       aside.in + i * aside.in_stride + turned, rest);
    }
    stream_rows({keys.out, keys.out_stride, all.aside, all.key_bytes, keys.count, all.aside},
                all.key_bytes);
    stream_rows(some_rows(all.values, first, all.aside_rows), all.value_bytes);
  }
}

}  // namespace

}  // namespace agentprim
