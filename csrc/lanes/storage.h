// vectors of stored numbers: read as fp32, whatever they are kept in
#pragma once

#include "floats.h"
#include "lanes/vector.h"

#ifdef __F16C__
// GCC 12 takes the undefined registers of its own intrinsics for mistakes
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace agentprim {

namespace {

// intrinsics where the compiler would take several instructions for what the processor does in one
#if defined(__AVX512F__)
inline Vf load(const Bfloat* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return (Vf)((Vi)_mm512_cvtepu16_epi32(bits) << 16);
}
inline Vf load(const Half* from) {
  return (Vf)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
#elif defined(__F16C__)
inline Vf load(const Bfloat* from) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return (Vf)((Vi)_mm256_cvtepu16_epi32(bits) << 16);
}
inline Vf load(const Half* from) {
  return (Vf)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
#else
template <typename T>
inline Vf load(const T* from) {
  Vf v;
  for (int i = 0; i < kLanes; ++i) v[i] = widen(from[i]);
  return v;
}
#endif

// the first `count` elements, zeros behind them
template <typename T>
inline Vf load_part(const T* from, int count) {
  T whole[kLanes] = {};
  __builtin_memcpy(whole, from, count * sizeof(T));
  return load(whole);
}

}  // namespace

}  // namespace agentprim
