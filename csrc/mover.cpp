#include "mover.h"

#include <algorithm>
#include <cstring>

#include "stream.h"

namespace agentprim {

namespace {

constexpr int64_t kAside = 4096;  // bytes of keys that are turned aside before they are streamed

bool whole(const View& cache) { return cache.slot_stride == cache.row_bytes(); }

}  // namespace

Mover::Mover(const Ends& ends, const Rotation& rotation, bool interleaved, const Lanes& lanes,
             int64_t layer, bool streams)
    : ends_(ends), rotation_(rotation), interleaved_(interleaved), lanes_(lanes), layer_(layer),
      streams_(streams), turned_(2 * rotation.half * ends.out_k.item),
      aside_(std::max(kAside, ends.out_k.row_bytes())) {}

char* Mover::target(const View& out, const Part& part) const {
  return out.at(layer_, part.run.target_page, part.head, part.run.target_offset);
}

const char* Mover::source(const View& in, const Part& part) const {
  return in.at(layer_, part.run.source_page, part.head, part.run.source_offset);
}

void Mover::keys(const Part& part, const Part& next) {
  const View &out = ends_.out_k, &in = ends_.k_cache;
  const int64_t count = part.run.count;
  char* to = target(out, part);
  const char *from = source(in, part), *ahead = source(in, next);
  if (!turned_) return copy(to, out, from, in, count, ahead);
  if (!streams_ || !whole(out)) return turn(to, out.slot_stride, from, part, count, ahead);
  const int64_t row_bytes = out.row_bytes(), some = aside_.size() / row_bytes;
  for (int64_t done = 0; done < count; done += some) {
    const int64_t rows = std::min(some, count - done), skipped = done * in.slot_stride;
    turn(aside_.data(), row_bytes, from + skipped, part, rows, ahead + skipped);
    stream(to + done * row_bytes, aside_.data(), rows * row_bytes, aside_.data());
  }
}

void Mover::values(const Part& part, const Part& next) const {
  const View &out = ends_.out_v, &in = ends_.v_cache;
  copy(target(out, part), out, source(in, part), in, part.run.count, source(in, next));
}

void Mover::turn(char* to, int64_t stride, const char* from, const Part& part, int64_t count,
                 const char* ahead) const {
  const int64_t row = part.run.row, in_stride = ends_.k_cache.slot_stride;
  lanes_.turn[static_cast<int>(ends_.dtype)]({to, stride, from, in_stride, count, ahead},
                                             rotation_.cos(layer_, row),
                                             rotation_.sin(layer_, row), rotation_.half,
                                             interleaved_);
  const int64_t rest = ends_.out_k.row_bytes() - turned_;
  for (int64_t i = 0; rest && i < count; ++i) {
    std::memcpy(to + i * stride + turned_, from + i * in_stride + turned_, rest);
  }
}

void Mover::copy(char* to, const View& out, const char* from, const View& in, int64_t count,
                 const char* ahead) const {
  const int64_t row_bytes = out.row_bytes();
  const bool at_once = whole(out) && whole(in);
  const int64_t pieces = at_once ? 1 : count, bytes = at_once ? count * row_bytes : row_bytes;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t skipped = i * in.slot_stride;
    if (streams_) {
      stream(to + i * out.slot_stride, from + skipped, bytes, ahead + skipped);
    } else {
      std::memcpy(to + i * out.slot_stride, from + skipped, bytes);
    }
  }
}

}  // namespace agentprim
