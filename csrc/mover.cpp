#include "mover.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace agentprim {

namespace {

constexpr int64_t kAside = 512, kLine = 64;  // bytes

// whole lines, if they are not too long
int64_t rows_aside(int64_t row_bytes) {
  const int64_t lines = kLine / std::gcd(kLine, row_bytes);
  return std::max(kAside / row_bytes / lines, int64_t{1}) * lines;
}

}  // namespace

Mover::Mover(const Ends& ends, const Rotation& rotation, bool interleaved, const Lanes& lanes,
             int64_t layer, bool streams)
    : ends_(ends), rotation_(rotation), interleaved_(interleaved), lanes_(lanes), layer_(layer),
      streams_(streams), turned_(2 * rotation.half * ends.out_k.item),
      aside_rows_(rows_aside(ends.out_k.row_bytes())),
      aside_(streams && turned_ ? aside_rows_ * ends.out_k.row_bytes() : 0) {}

void Mover::move(const Part& part, const Part& next) {
  const Turn keys = rows(ends_.out_k, ends_.k_cache, part, next);
  const Turn values = rows(ends_.out_v, ends_.v_cache, part, next);
  const int64_t key_bytes = ends_.out_k.row_bytes(), value_bytes = ends_.out_v.row_bytes();
  const int64_t dtype = static_cast<int64_t>(ends_.dtype), row = part.run.row;
  if (streams_ && turned_) {
    const Turned all{keys, values, key_bytes, value_bytes, aside_.data(), aside_rows_};
    return lanes_.stream_turned[dtype](all, rotation_.cos(layer_, row), rotation_.sin(layer_, row),
                                       rotation_.half, interleaved_);
  }
  turned_ ? turn(keys, row) : copy(keys, key_bytes);
  copy(values, value_bytes);
}

Turn Mover::rows(const View& out, const View& in, const Part& part, const Part& next) const {
  const Run &run = part.run, &later = next.run;
  return {out.at(layer_, run.target_page, part.head, run.target_offset), out.slot_stride,
          in.at(layer_, run.source_page, part.head, run.source_offset), in.slot_stride, run.count,
          in.at(layer_, later.source_page, next.head, later.source_offset)};
}

void Mover::turn(const Turn& rows, int64_t row) const {
  lanes_.turn[static_cast<int>(ends_.dtype)](rows, rotation_.cos(layer_, row),
                                             rotation_.sin(layer_, row), rotation_.half,
                                             interleaved_);
  const int64_t rest = ends_.out_k.row_bytes() - turned_;
  for (int64_t i = 0; rest && i < rows.count; ++i) {
    std::memcpy(rows.out + i * rows.out_stride + turned_, rows.in + i * rows.in_stride + turned_,
                rest);
  }
}

void Mover::copy(const Turn& rows, int64_t row_bytes) const {
  if (streams_) return lanes_.stream(rows, row_bytes);
  const bool whole = at_once(rows, row_bytes);
  const int64_t pieces = whole ? 1 : rows.count, bytes = whole ? rows.count * row_bytes : row_bytes;
  for (int64_t i = 0; i < pieces; ++i) {
    std::memcpy(rows.out + i * rows.out_stride, rows.in + i * rows.in_stride, bytes);
  }
}

}  // namespace agentprim
