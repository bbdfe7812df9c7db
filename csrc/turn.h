// R(delta) on one pair of dims: fp32 arithmetic, one rounding at the end
#pragma once

#include "floats.h"

namespace agentprim {

template <typename T>
AP_HD void turn_pair(T a, T b, float cos, float sin, T* out_a, T* out_b) {
  const float x = widen(a), y = widen(b);
  narrow(x * cos - y * sin, out_a);
  narrow(y * cos + x * sin, out_b);
}

}  // namespace agentprim
