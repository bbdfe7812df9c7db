#include "runs.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "parallel.h"

namespace agentprim {

namespace {

void check_slot(const char* argument, int64_t slot, const View& cache) {
  const int64_t slots = cache.pages * cache.page_size;
  if (slot < 0 || slot >= slots) {
    throw std::invalid_argument(std::string(argument) + " must have slots in 0.." +
                                std::to_string(slots - 1) + ", got " + std::to_string(slot));
  }
}

// copy the part of each row behind its first `skip` bytes
void copy_rows(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t count,
               int64_t skip, int64_t bytes) {
  if (skip == 0 && out_stride == bytes && in_stride == bytes) {
    std::memcpy(out, in, count * bytes);
    return;
  }
  if (skip == bytes) return;
  for (int64_t row = 0; row < count; ++row) {
    std::memcpy(out + row * out_stride + skip, in + row * in_stride + skip, bytes - skip);
  }
}

}  // namespace

void Runs::add(int64_t source, int64_t target, int64_t row) {
  if (target < 0) return;
  check_slot("source_slots", source, ends_.k_cache);
  check_slot("slot_mapping", target, ends_.out_k);
  const int64_t from = ends_.k_cache.page_size, to = ends_.out_k.page_size;
  const Run next{source / from, source % from, target / to, target % to, 1, row};
  ++tokens_;
  if (!runs_.empty()) {
    Run& last = runs_.back();
    if (last.source_page == next.source_page && last.target_page == next.target_page &&
        last.source_offset + last.count == next.source_offset &&
        last.target_offset + last.count == next.target_offset && last.row == row) {
      ++last.count;
      return;
    }
  }
  runs_.push_back(next);
}

void Runs::move(const Rotation& rotation, bool interleaved, int64_t threads,
                const Lanes& lanes) const {
  const auto& [out_k, out_v, k_cache, v_cache, dtype] = ends_;
  const auto turn = lanes.turn[static_cast<int>(dtype)];
  const int64_t tasks = out_k.layers * out_k.heads, turned = 2 * rotation.half * out_k.item;
  const int64_t bytes = 2 * tokens_ * tasks * (out_k.row_bytes() + out_v.row_bytes());
  parallel_for(tasks, threads, bytes, [&](int64_t task) {
    const int64_t layer = task / out_k.heads, head = task % out_k.heads;
    for (const Run& run : runs_) {
      char* to = out_k.at(layer, run.target_page, head, run.target_offset);
      const char* from = k_cache.at(layer, run.source_page, head, run.source_offset);
      if (turned) {
        turn(to, out_k.slot_stride, from, k_cache.slot_stride, run.count,
             rotation.cos(layer, run.row), rotation.sin(layer, run.row), rotation.half,
             interleaved);
      }
      copy_rows(to, out_k.slot_stride, from, k_cache.slot_stride, run.count, turned,
                out_k.row_bytes());
      copy_rows(out_v.at(layer, run.target_page, head, run.target_offset), out_v.slot_stride,
                v_cache.at(layer, run.source_page, head, run.source_offset), v_cache.slot_stride,
                run.count, 0, out_v.row_bytes());
    }
  });
}

}  // namespace agentprim
