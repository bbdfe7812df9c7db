// vectors of stored numbers: read as fp32, whatever they are kept in
#pragma once

#include "floats.h"
#include "lanes/vector.h"

#ifdef __SSE2__
// GCC 12 takes the undefined registers of its own intrinsics for mistakes
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace agentprim {

namespace {

typedef uint16_t Vs __attribute__((vector_size(2 * AP_LANES)));

// 16 bits to a lane
inline Vu bits_of(const void* from) {
#if defined(__AVX512F__)
  return (Vu)_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
#elif defined(__AVX2__)
  return (Vu)_mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from)));
#else
  Vs bits;
  __builtin_memcpy(&bits, from, sizeof bits);
  return __builtin_convertvector(bits, Vu);
#endif
}

inline Vf load(const Bfloat* from) { return (Vf)(bits_of(from) << 16); }

// as floats.h does it for one number, where the processor has no instruction
inline Vf load(const Half* from) {
#if defined(__AVX512F__)
  return (Vf)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(__F16C__)
  return (Vf)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
  const Vu bits = bits_of(from), magnitude = (bits & 0x7fff) << 13;
  const Vu exponent = magnitude & 0x0f800000;
  const Vf subnormal = (Vf)(magnitude + (113u << 23)) - from_bits(113u << 23);
  const Vu small = exponent == 0 ? (Vu)subnormal : magnitude + (112u << 23);
  const Vu wide = exponent == 0x0f800000 ? magnitude + (224u << 23) : small;
  return (Vf)(wide | (bits & 0x8000) << 16);
#endif
}

inline void save(Half* to, Vf v) {
#if defined(__AVX512F__)
  const __m256i bits = _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __builtin_memcpy(to, &bits, sizeof bits);
#elif defined(__F16C__)
  const __m128i bits = _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __builtin_memcpy(to, &bits, sizeof bits);
#else
  const Vu wide = (Vu)v, magnitude = wide & 0x7fffffff;
  const Vu normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  const Vu subnormal = (Vu)((Vf)magnitude + 0.5f) - 0x3f000000;
  const Vu small = magnitude < 0x38800000 ? subnormal : normal;
  const Vu special = magnitude > 0x7f800000 ? Vu{} + 0x7e00 : Vu{} + 0x7c00;
  const Vu half = (magnitude >= 0x47800000 ? special : small) | (wide >> 16 & 0x8000);
  const Vs bits = __builtin_convertvector(half, Vs);
  __builtin_memcpy(to, &bits, sizeof bits);
#endif
}

// the first `count` elements, zeros behind them
template <typename T>
inline Vf load_part(const T* from, int count) {
  T whole[kLanes] = {};
  __builtin_memcpy(whole, from, count * sizeof(T));
  return load(whole);
}

struct Two {
  Vf first, second;
};

// `2 * kLanes` numbers in a row: those at even places, and those at odd ones
template <typename T>
inline Two load_pairs(const T* from) {
  const Vf low = load(from), high = load(from + kLanes);
  return {at_even(low, high, kAllLanes), at_odd(low, high, kAllLanes)};
}

template <typename T>
inline void save_pairs(T* to, Two pairs) {
  save(to, zip_low(pairs.first, pairs.second, kAllLanes));
  save(to + kLanes, zip_high(pairs.first, pairs.second, kAllLanes));
}

// Bfloats lie in pairs in what would be the bits of one float each: no lane has to move
inline Two load_pairs(const Bfloat* from) {
  Vi bits;
  __builtin_memcpy(&bits, from, sizeof bits);
  return {(Vf)(bits << 16), (Vf)(bits & static_cast<int>(0xffff0000))};
}

inline bool any_nan(Two two) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(two.first, two.second, _CMP_UNORD_Q);
#elif defined(__AVX__)
  return _mm256_movemask_ps(_mm256_cmp_ps(two.first, two.second, _CMP_UNORD_Q));
#elif defined(__SSE2__)
  return _mm_movemask_ps(_mm_cmpunord_ps(two.first, two.second));
#else
  const Vi nan = (two.first != two.first) | (two.second != two.second);
  int any = 0;
  for (int i = 0; i < kLanes; ++i) any |= nan[i];
  return any;
#endif
}

// the upper half is the number rounded to nearest even
inline Vu rounded(Vf v) {
  const Vu bits = (Vu)v;
  return bits + 0x7fff + (bits >> 16 & 1);
}

// likewise, and NaN stays NaN
inline Vu rounded_or_nan(Vf v) { return v == v ? rounded(v) : (Vu)v | 0x400000; }

inline void save_pairs(Bfloat* to, Two pairs) {
  Vu first = rounded(pairs.first), second = rounded(pairs.second);
  if (__builtin_expect(any_nan(pairs), false)) {
    first = rounded_or_nan(pairs.first);
    second = rounded_or_nan(pairs.second);
  }
  const Vu bits = first >> 16 | (second & 0xffff0000);
  __builtin_memcpy(to, &bits, sizeof bits);
}

// `2 * kLanes` numbers in a row in the order that costs a T least
template <typename T>
inline Two load_two(const T* from) {
  return {load(from), load(from + kLanes)};
}
inline Two load_two(const Bfloat* from) { return load_pairs(from); }

// floats in the order in which `load_two` gives the numbers of a T
template <typename T>
inline Two in_order_of(const float* from) {
  return load_two(from);
}
template <>
inline Two in_order_of<Bfloat>(const float* from) {
  return load_pairs(from);
}

template <typename T>
inline void put_in_order_of(float* to, const float* from, int64_t count) {
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const Two two = in_order_of<T>(from + i);
    save(to + i, two.first);
    save(to + i + kLanes, two.second);
  }
  if (i < count) __builtin_memcpy(to + i, from + i, (count - i) * sizeof(float));
}

template <typename T>
inline void save_two(T* to, Two two) {
  save(to, two.first);
  save(to + kLanes, two.second);
}
inline void save_two(Bfloat* to, Two two) { save_pairs(to, two); }

}  // namespace

}  // namespace agentprim
