// vectors of AP_LANES floats, by the extension that GCC and Clang share
#pragma once

#include <cstdint>
#include <utility>

namespace agentprim {

namespace {

constexpr int kLanes = AP_LANES;

typedef float Vf __attribute__((vector_size(4 * AP_LANES)));
typedef int32_t Vi __attribute__((vector_size(4 * AP_LANES)));
typedef uint32_t Vu __attribute__((vector_size(4 * AP_LANES)));

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

template <int... kLane>
inline Vi own_lane(std::integer_sequence<int, kLane...>) { return Vi{kLane...}; }

#ifdef __clang__
#define AP_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define AP_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Vi{__VA_ARGS__})
#endif

// of each group of `2 * kHalf` lanes the first half from `a`, the second from `b`, in their places
template <int kHalf, int... kLane>
inline Vf kept(Vf a, Vf b, std::integer_sequence<int, kLane...>) {
  return AP_SHUFFLE(a, b, (kLane & kHalf ? kLanes + kLane : kLane)...);
}

// what `kept` leaves behind, moved to the place of the other half
template <int kHalf, int... kLane>
inline Vf moved(Vf a, Vf b, std::integer_sequence<int, kLane...>) {
  return AP_SHUFFLE(a, b, (kLane & kHalf ? kLanes + kLane - kHalf : kLane + kHalf)...);
}

template <int... kLane>
inline Vf at_even(Vf low, Vf high, std::integer_sequence<int, kLane...>) {
  return AP_SHUFFLE(low, high, (2 * kLane)...);
}

template <int... kLane>
inline Vf at_odd(Vf low, Vf high, std::integer_sequence<int, kLane...>) {
  return AP_SHUFFLE(low, high, (2 * kLane + 1)...);
}

// lanes of `a` and `b` in turn, from the first on, and from the middle on
template <int... kLane>
inline Vf zip_low(Vf a, Vf b, std::integer_sequence<int, kLane...>) {
  return AP_SHUFFLE(a, b, (kLane / 2 + kLane % 2 * kLanes)...);
}

template <int... kLane>
inline Vf zip_high(Vf a, Vf b, std::integer_sequence<int, kLane...>) {
  return AP_SHUFFLE(a, b, (kLanes / 2 + kLane / 2 + kLane % 2 * kLanes)...);
}

constexpr auto kAllLanes = std::make_integer_sequence<int, kLanes>();

// lane i is the sum over all lanes of v[i]; v is used up
template <int kHalf = kLanes / 2>
inline Vf totals(Vf* v) {
  for (int i = 0; i < kHalf; ++i) {
    const Vf a = v[i], b = v[i + kHalf];
    v[i] = kept<kHalf>(a, b, kAllLanes) + moved<kHalf>(a, b, kAllLanes);
  }
  if constexpr (kHalf > 1) return totals<kHalf / 2>(v);
  return v[0];
}

template <int kHalf = kLanes / 2>
inline float total(Vf v) {
  v = kept<kHalf>(v, v, kAllLanes) + moved<kHalf>(v, v, kAllLanes);
  if constexpr (kHalf > 1) return total<kHalf / 2>(v);
  return v[0];
}

// where no lane is NaN
template <int kHalf = kLanes / 2>
inline float largest(Vf v) {
  const Vf a = kept<kHalf>(v, v, kAllLanes), b = moved<kHalf>(v, v, kAllLanes);
  v = a > b ? a : b;
  if constexpr (kHalf > 1) return largest<kHalf / 2>(v);
  return v[0];
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
