// R(delta) on rows of keys
#pragma once

#include "lanes/lanes.h"
#include "lanes/storage.h"
#include "turn.h"

namespace agentprim {

namespace {

inline Vf turned_a(Vf a, Vf b, Vf cos, Vf sin) { return a * cos - b * sin; }
inline Vf turned_b(Vf a, Vf b, Vf cos, Vf sin) { return b * cos + a * sin; }

// as many pairs as two vectors hold, in all rows, so that angles stay in registers; each step reads
// all that it writes before it writes, and may go in place. Angles lie in the order of an Order.
template <typename T, typename Order>
inline void turn_halves(const Turn& rows, const float* cos, const float* sin, int64_t i,
                        int64_t half) {
  const Two c = in_order_of<Order>(cos + i), s = in_order_of<Order>(sin + i);
  for (int64_t row = 0; row < rows.count; ++row) {
    T* to = reinterpret_cast<T*>(rows.out + row * rows.out_stride) + i;
    const T* from = reinterpret_cast<const T*>(rows.in + row * rows.in_stride) + i;
    const T* ahead = reinterpret_cast<const T*>(rows.ahead + row * rows.in_stride) + i;
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + half);
    const Two a = load_two(from), b = load_two(from + half);
    save_two(to, {turned_a(a.first, b.first, c.first, s.first),
                  turned_a(a.second, b.second, c.second, s.second)});
    save_two(to + half, {turned_b(a.first, b.first, c.first, s.first),
                         turned_b(a.second, b.second, c.second, s.second)});
  }
}

// likewise pairs of neighbours, as many as one vector holds
template <typename T>
inline void turn_neighbours(const Turn& rows, const float* cos, const float* sin, int64_t i) {
  const Vf c = load(cos + i), s = load(sin + i);
  for (int64_t row = 0; row < rows.count; ++row) {
    T* to = reinterpret_cast<T*>(rows.out + row * rows.out_stride) + 2 * i;
    const T* from = reinterpret_cast<const T*>(rows.in + row * rows.in_stride) + 2 * i;
    __builtin_prefetch(reinterpret_cast<const T*>(rows.ahead + row * rows.in_stride) + 2 * i);
    const Two x = load_pairs(from);
    save_pairs(to, {turned_a(x.first, x.second, c, s), turned_b(x.first, x.second, c, s)});
  }
}

template <typename T, typename Order = T>
inline void turn_block(const Turn& rows, const float* cos, const float* sin, int64_t half,
                       bool interleaved) {
  int64_t i = 0;
  if (interleaved) {
    for (; i + kLanes <= half; i += kLanes) turn_neighbours<T>(rows, cos, sin, i);
  } else {
    for (; i + 2 * kLanes <= half; i += 2 * kLanes) turn_halves<T, Order>(rows, cos, sin, i, half);
  }
  const int64_t step = interleaved ? 2 : 1, other = interleaved ? 1 : half;
  for (int64_t row = 0; i < half && row < rows.count; ++row) {
    T* to = reinterpret_cast<T*>(rows.out + row * rows.out_stride);
    const T* from = reinterpret_cast<const T*>(rows.in + row * rows.in_stride);
#pragma omp simd
    for (int64_t j = i; j < half; ++j) {
      const int64_t at = j * step;
      turn_pair(from[at], from[at + other], cos[j], sin[j], to + at, to + at + other);
    }
  }
}

template <typename T>
void turn_rows(const Turn& rows, const float* cos, const float* sin, int64_t half,
               bool interleaved) {
  constexpr int64_t kBlock = 16;  // rows that the nearest cache holds from one pass to the next
  for (int64_t row = 0; row < rows.count; row += kBlock) {
    turn_block<T>(some_rows(rows, row, kBlock), cos, sin, half, interleaved);
  }
}

}  // namespace

}  // namespace agentprim
