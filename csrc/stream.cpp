#include "stream.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace agentprim {

void end_streams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace agentprim
