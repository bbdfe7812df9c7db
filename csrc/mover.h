// moves runs of one layer: keys turned on the way, values as they are
#pragma once

#include <vector>

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
  void keys(const Part& part, const Part& next);
  void values(const Part& part, const Part& next) const;

 private:
  char* target(const View& out, const Part& part) const;
  const char* source(const View& in, const Part& part) const;
  void turn(char* to, int64_t stride, const char* from, const Part& part, int64_t count,
            const char* ahead) const;
  void copy(char* to, const View& out, const char* from, const View& in, int64_t count,
            const char* ahead) const;

  const Ends& ends_;
  const Rotation& rotation_;
  const bool interleaved_;
  const Lanes& lanes_;
  const int64_t layer_;
  const bool streams_;
  const int64_t turned_;  // bytes of a key
  std::vector<char> aside_;
};

}  // namespace agentprim
