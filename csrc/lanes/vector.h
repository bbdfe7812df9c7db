// vectors of AP_LANES floats, by the extension that GCC and Clang share
#pragma once

#include <cstdint>
#include <utility>

namespace agentprim {

namespace {

constexpr int kLanes = AP_LANES;

typedef float Vf __attribute__((vector_size(4 * AP_LANES)));
typedef int32_t Vi __attribute__((vector_size(4 * AP_LANES)));

inline Vf load(const float* from) {
  Vf v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

inline Vi load(const int32_t* from) {
  Vi v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

inline void save(float* to, Vf v) { __builtin_memcpy(to, &v, sizeof v); }

inline Vf fill(float x) { return x - Vf{}; }

#ifdef __clang__
#define AP_SHUFFLE(v, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#else
#define AP_SHUFFLE(v, ...) __builtin_shuffle(v, Vi{__VA_ARGS__})
#endif

template <int kStep, int... kLane>
inline Vf rotate_lanes(Vf v, std::integer_sequence<int, kLane...>) {
  return AP_SHUFFLE(v, ((kLane + kStep) % kLanes)...);
}

// sum of all lanes, by halves
template <int kStep = kLanes / 2>
inline float total(Vf v) {
  if constexpr (kStep == 0) {
    return v[0];
  } else {
    const auto lanes = std::make_integer_sequence<int, kLanes>();
    return total<kStep / 2>(v + rotate_lanes<kStep>(v, lanes));
  }
}

// e^x for x <= 0 within two units in the last place; 0 below -87; NaN stays NaN
inline Vf exp_down(Vf x) {
  const Vf shifter = fill(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Vf shifted = x * 1.44269504f + shifter, n = shifted - shifter;
  const Vf r = x - n * 0.693359375f + n * 2.12194440e-4f;  // ln 2 in two parts
  Vf p = fill(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const Vf scaled = (Vf)((Vi)p + ((Vi)shifted << 23));
  return x < -87.0f ? Vf{} : scaled;
}

// within about 4e-7, relative
inline Vf tanh(Vf x) {
  const Vf square = x * x, size = x < 0.0f ? -x : x;
  Vf series = fill(0.021869489f);
  series = series * square - 0.053968254f;
  series = series * square + 0.13333333f;
  series = series * square - 0.33333333f;
  series = x + x * square * series;
  const Vf e = exp_down(-2.0f * size), far = (1.0f - e) / (1.0f + e);
  return size < 0.35f ? series : x < 0.0f ? -far : far;
}

}  // namespace

}  // namespace agentprim
