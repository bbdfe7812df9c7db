// copy pages between a cache and the host piece by piece, so that gathering, the transfer and the
// copy on the host overlap: one body for CUDA and for plain memory
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "pack_pages.h"

namespace agentprim {

constexpr int64_t kPagesPerStage = 256;  // their numbers travel as an argument of the kernel

// one place in the ring: staging memory on both sides, with a queue and an event of its own.
// Copies are queued in order and may run at any time until an event says that they are done.
class Stage {
 public:
  virtual ~Stage() = default;
  char* host = nullptr;    // pinned
  char* device = nullptr;  // where the cache is

  // queue behind everything that a stream was given before
  virtual void follow(void* stream) = 0;
  virtual void copy_rows(const Packing& packing, const int32_t* pages, int64_t num_pages) = 0;
  virtual void copy_bytes(char* out, const char* in, int64_t bytes) = 0;
  // put the event behind what is queued
  virtual void record() = 0;
  // let a stream go on only behind the event
  virtual void hold(void* stream) = 0;
  // let the host go on only behind the event
  virtual void wait() = 0;
  // give up, after a fault: return when nothing is running any more
  virtual void drain() noexcept = 0;
};

using Stages = std::vector<std::unique_ptr<Stage>>;

// plain memory; every copy runs as late as the event allows, the worst that a device may do
Stages host_stages(int64_t count, int64_t bytes);
Stages cuda_stages(int device, int64_t count, int64_t bytes, int64_t blocks);

// thread-safe: one call at a time
class StagingRing {
 public:
  StagingRing(Stages stages, int64_t bytes) : stages_(std::move(stages)), bytes_(bytes) {}

  // returns when `packed` is written, or read. What `stream` was given before comes before the
  // copy, and what it is given afterwards comes after it. Pinned memory takes no detour.
  void run(const Packing& packing, const int32_t* pages, int64_t num_pages, bool pinned,
           void* stream, int64_t threads);

 private:
  struct Call;
  void pack(const Call& call);
  void unpack(const Call& call);

  std::mutex lock_;
  Stages stages_;
  int64_t bytes_;
};

}  // namespace agentprim
