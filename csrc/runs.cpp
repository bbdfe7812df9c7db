#include "runs.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "mover.h"
#include "parallel.h"
#include "stream.h"

namespace agentprim {

namespace {

constexpr int64_t kAhead = 4096;

void check_slot(const char* argument, int64_t slot, const View& cache) {
  const int64_t slots = cache.pages * cache.page_size;
  if (slot < 0 || slot >= slots) {
    throw std::invalid_argument(std::string(argument) + " must have slots in 0.." +
                                std::to_string(slots - 1) + ", got " + std::to_string(slot));
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
        last.target_offset + last.count == next.target_offset && last.row == row &&
        last.count < kLongestRun) {
      ++last.count;
      return;
    }
  }
  runs_.push_back(next);
}

void Runs::move(const Rotation& rotation, bool interleaved, int64_t threads,
                const Lanes& lanes) const {
  const View &k = ends_.out_k, &v = ends_.out_v;
  const int64_t written = tokens_ * k.layers * k.heads * (k.row_bytes() + v.row_bytes());
  const bool streams = written >= kStreamBytes;
  const int64_t runs = runs_.size(), some = share(runs * k.layers, threads);
  const int64_t shares = (runs + some - 1) / some;
  parallel_for(k.layers * shares, threads, 2 * written, [&](int64_t task) {
    Mover mover(ends_, rotation, interleaved, lanes, task / shares, streams);
    const int64_t begin = task % shares * some, end = std::min(begin + some, runs);
    // heads of a page lie one behind the other
    const auto part = [&](int64_t index) { return Part{runs_[index / k.heads], index % k.heads}; };
    const int64_t last = end * k.heads - 1;
    for (int64_t i = begin * k.heads; i <= last; ++i) {
      const Part now = part(i);
      // about as many bytes ahead as arrive while these are worked on
      const int64_t ahead = std::max<int64_t>(1, kAhead / (now.run.count * k.row_bytes()));
      const Part next = part(std::min(i + ahead, last));
      mover.move(now, next);
    }
    if (streams) end_streams();
  });
}

}  // namespace agentprim
