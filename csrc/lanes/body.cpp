// compiled once for each kind of processor, with AP_LANES and the compiler's flags set to match.
// Nothing of the standard library in here: a template that this file instantiates could be linked
// into code for lesser processors.
#include "lanes/attend_few.h"
#include "lanes/attend_many.h"
#include "lanes/lanes.h"
#include "lanes/stream_rows.h"
#include "lanes/turn_rows.h"

namespace agentprim {

namespace {

template <typename T>
void widen_all(float* out, const char* in, int64_t count) {
  const T* from = reinterpret_cast<const T*>(in);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) save(out + i, load(from + i));
  for (; i < count; ++i) out[i] = widen(from[i]);
}

template <typename T>
void narrow_all(char* out, const float* in, int64_t count) {
  T* to = reinterpret_cast<T*>(out);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) narrow(in[i], to + i);
}

}  // namespace

#define AP_NAME_OF(isa) #isa
#define AP_NAME(isa) AP_NAME_OF(isa)
#define AP_TABLE_OF(isa) lanes_##isa
#define AP_TABLE(isa) AP_TABLE_OF(isa)

extern const Lanes AP_TABLE(AP_ISA);
const Lanes AP_TABLE(AP_ISA) = {
    AP_NAME(AP_ISA),
    kLanes,
    {turn_rows<float>, turn_rows<Half>, turn_rows<Bfloat>},
    stream_rows,
    {stream_turned<float>, stream_turned<Half>, stream_turned<Bfloat>},
    {widen_all<float>, widen_all<Half>, widen_all<Bfloat>},
    {narrow_all<float>, narrow_all<Half>, narrow_all<Bfloat>},
    {attend_few<float>, attend_few<Half>, attend_few<Bfloat>},
    attend_many,
};

}  // namespace agentprim
