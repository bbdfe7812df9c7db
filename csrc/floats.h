// storage types and their conversions, for host and device; round to nearest even, NaN stays NaN
#pragma once

#include <cstdint>
#include <cstring>

// always inlined: the files of csrc/lanes are compiled for several processors, and a copy of a
// shared function that one of them emitted must not be linked into the others
#ifdef __CUDACC__
#define AP_HD __host__ __device__ __forceinline__
#else
#define AP_HD inline __attribute__((always_inline))
#endif

namespace agentprim {

enum class Dtype : int { f32 = 0, f16 = 1, bf16 = 2 };

struct Half { uint16_t bits; };
struct Bfloat { uint16_t bits; };

AP_HD uint32_t to_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

AP_HD float from_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

AP_HD float widen(float x) { return x; }

AP_HD float widen(Bfloat x) { return from_bits(static_cast<uint32_t>(x.bits) << 16); }

// selects instead of branches, so that loops over it become vector code
AP_HD float widen(Half x) {
  const uint32_t magnitude = (x.bits & 0x7fffu) << 13, exponent = magnitude & 0x0f800000u;
  const uint32_t normal = magnitude + (112u << 23);
  const uint32_t special = magnitude + (224u << 23);  // infinity and NaN
  const float subnormal = from_bits(magnitude + (113u << 23)) - from_bits(113u << 23);
  const uint32_t u = exponent == 0x0f800000u ? special : exponent ? normal : to_bits(subnormal);
  return from_bits(u | static_cast<uint32_t>(x.bits & 0x8000u) << 16);
}

AP_HD void narrow(float x, float* out) { *out = x; }

AP_HD void narrow(float x, Bfloat* out) {
  const uint32_t u = to_bits(x);
  const uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16, nan = u >> 16 | 0x40u;
  out->bits = static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

AP_HD void narrow(float x, Half* out) {
  const uint32_t u = to_bits(x), magnitude = u & 0x7fffffffu;
  // 65520 and above carries into the exponent of infinity by itself, up to 65536
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  // adding 0.5 lets the adder round at the last bit of a subnormal
  const uint32_t subnormal = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t bits =
      magnitude >= 0x47800000u ? special : magnitude < 0x38800000u ? subnormal : normal;
  out->bits = static_cast<uint16_t>(bits | (u >> 16 & 0x8000u));
}

}  // namespace agentprim
