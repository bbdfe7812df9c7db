#include <cstring>
#include <stdexcept>
#include <string>

#include "lanes/lanes.h"

namespace agentprim {

extern const Lanes lanes_base;
#ifdef AP_X86
extern const Lanes lanes_v3, lanes_v4;
#endif

const Lanes& lanes(const char* name) {
  const auto wanted = [name](const Lanes& set) { return !*name || !std::strcmp(name, set.name); };
#ifdef AP_X86
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512cd");
  if (v4 && wanted(lanes_v4)) return lanes_v4;
  if (v3 && wanted(lanes_v3)) return lanes_v3;
#endif
  if (wanted(lanes_base)) return lanes_base;
  throw std::invalid_argument("isa must be one that this processor runs, got " + std::string(name));
}

}  // namespace agentprim
