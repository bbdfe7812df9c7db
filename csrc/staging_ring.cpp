#include "staging_ring.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "parallel.h"

namespace agentprim {

// the pages of one call, cut into chunks of which each fits a stage
struct StagingRing::Call {
  const Packing& packing;
  const int32_t* pages;
  int64_t num_pages, pages_per_chunk;
  bool pinned;
  void* stream;
  int64_t threads;

  int64_t chunks() const { return (num_pages + pages_per_chunk - 1) / pages_per_chunk; }
  int64_t first(int64_t chunk) const { return chunk * pages_per_chunk; }
  int64_t count(int64_t chunk) const { return std::min(pages_per_chunk, num_pages - first(chunk)); }
  int64_t bytes(int64_t chunk) const { return count(chunk) * packing.bytes_of_page(); }
  char* packed(int64_t chunk) const {
    return packing.packed + first(chunk) * packing.bytes_of_page();
  }
  char* host(const Stage& stage, int64_t chunk) const {
    return pinned ? packed(chunk) : stage.host;
  }
  void copy_rows(Stage& stage, int64_t chunk) const {
    stage.copy_rows({packing.cache, stage.device, packing.unpacks}, pages + first(chunk),
                    count(chunk));
  }
  // on the host, between pinned memory and the caller's
  void move(char* out, const char* in, int64_t bytes) const {
    if (out == in) return;
    const int64_t piece = int64_t{1} << 20;
    parallel_for((bytes + piece - 1) / piece, threads, 2 * bytes, [&](int64_t i) {
      std::memcpy(out + i * piece, in + i * piece, std::min(piece, bytes - i * piece));
    });
  }
};

void StagingRing::run(const Packing& packing, const int32_t* pages, int64_t num_pages,
                      bool pinned, void* stream, int64_t threads) {
  if (num_pages == 0) return;
  const int64_t fit = bytes_ / packing.bytes_of_page();
  if (fit < 1) {
    throw std::invalid_argument("stage_bytes must hold a page of " +
                                std::to_string(packing.bytes_of_page()) + " bytes, got " +
                                std::to_string(bytes_));
  }
  const Call call{packing, pages,  num_pages, std::min(fit, kPagesPerStage),
                  pinned,  stream, threads};
  const std::lock_guard<std::mutex> guard(lock_);
  try {
    packing.unpacks ? unpack(call) : pack(call);
  } catch (...) {
    // the caller may free both ends now
    for (const auto& stage : stages_) stage->drain();
    throw;
  }
}

void StagingRing::pack(const Call& call) {
  const int64_t chunks = call.chunks(), ahead = static_cast<int64_t>(stages_.size());
  for (int64_t chunk = 0; chunk < chunks + ahead; ++chunk) {
    Stage& stage = *stages_[chunk % ahead];
    const int64_t before = chunk - ahead;  // the chunk that this stage had last
    if (before >= 0 && before < chunks) {
      stage.wait();
      call.move(call.packed(before), call.host(stage, before), call.bytes(before));
    }
    if (chunk >= chunks) continue;
    if (before < 0) stage.follow(call.stream);
    call.copy_rows(stage, chunk);
    stage.copy_bytes(call.host(stage, chunk), stage.device, call.bytes(chunk));
    stage.record();
  }
}

void StagingRing::unpack(const Call& call) {
  const int64_t chunks = call.chunks(), ahead = static_cast<int64_t>(stages_.size());
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Stage& stage = *stages_[chunk % ahead];
    stage.wait();  // for the chunk before, maybe of an earlier call, to have left host memory
    call.move(call.host(stage, chunk), call.packed(chunk), call.bytes(chunk));
    if (chunk < ahead) stage.follow(call.stream);
    stage.copy_bytes(stage.device, call.host(stage, chunk), call.bytes(chunk));
    call.copy_rows(stage, chunk);
    stage.record();
  }
  for (int64_t i = 0; i < std::min(chunks, ahead); ++i) {
    stages_[i]->hold(call.stream);
    if (call.pinned) stages_[i]->wait();
  }
}

}  // namespace agentprim
