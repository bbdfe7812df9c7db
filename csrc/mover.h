// moves runs of one layer: keys turned on the way, values as they are
#pragma once

#include "aligned.h"
#include "runs.h"

namespace agentprim {

// the slots of a run in one head
struct Part {
  const Run& run;
  int64_t head;
};

class Mover {
 public:
  // `streams` writes past the caches
  Mover(const Ends& ends, const Rotation& rotation, bool interleaved, const Lanes& lanes,
        int64_t layer, bool streams);

  // what `next` will read comes closer meanwhile
  void move(const Part& part, const Part& next);

 private:
  Turn rows(const View& out, const View& in, const Part& part, const Part& next) const;
  void turn(const Turn& rows, int64_t row) const;
  void copy(const Turn& rows, int64_t row_bytes) const;

  const Ends& ends_;
  const Rotation& rotation_;
  const bool interleaved_;
  const Lanes& lanes_;
  const int64_t layer_;
  const bool streams_;
  const int64_t turned_;  // bytes of a key
  const int64_t aside_rows_;
  Aligned<char> aside_;  // keys that are turned and not yet streamed
};

}  // namespace agentprim
