#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include "staging_ring.h"

namespace agentprim {

namespace {

// every lane of a few warps, one after the other
template <typename Unit>
void run_lanes(const Packing& packing, const int32_t* pages, int64_t rows) {
  const int64_t num_warps = 3;
  for (int64_t warp = 0; warp < num_warps; ++warp) {
    for (int64_t lane = 0; lane < 32; ++lane) {
      copy_rows<Unit>(packing, pages, rows, warp, num_warps, lane);
    }
  }
}

void run(const Packing& packing, const int32_t* pages, int64_t num_pages) {
  const int64_t rows = num_pages * packing.rows_of_page();
  switch (unit_bytes(packing)) {
    case 16: return run_lanes<Unit16>(packing, pages, rows);
    case 8: return run_lanes<uint64_t>(packing, pages, rows);
    case 4: return run_lanes<uint32_t>(packing, pages, rows);
    default: return run_lanes<uint16_t>(packing, pages, rows);
  }
}

class HostStage final : public Stage {
 public:
  explicit HostStage(int64_t bytes) : host_(bytes), device_(bytes) {
    host = host_.data();
    device = device_.data();
  }

  void follow(void*) override {}
  void copy_rows(const Packing& packing, const int32_t* pages, int64_t num_pages) override {
    const std::vector<int32_t> list(pages, pages + num_pages);
    queued_.push_back([=] { run(with_long_rows(packing), list.data(), num_pages); });
  }
  void copy_bytes(char* out, const char* in, int64_t bytes) override {
    queued_.push_back([=] { std::memcpy(out, in, bytes); });
  }
  void record() override { recorded_ = queued_.size(); }
  void hold(void*) override { wait(); }
  void wait() override {
    for (size_t i = 0; i < recorded_; ++i) queued_[i]();
    queued_.erase(queued_.begin(), queued_.begin() + recorded_);
    recorded_ = 0;
  }
  void drain() noexcept override {
    queued_.clear();
    recorded_ = 0;
  }

 private:
  std::vector<char> host_, device_;
  std::vector<std::function<void()>> queued_;
  size_t recorded_ = 0;
};

}  // namespace

Stages host_stages(int64_t count, int64_t bytes) {
  Stages stages;
  while (static_cast<int64_t>(stages.size()) < count) {
    stages.push_back(std::make_unique<HostStage>(bytes));
  }
  return stages;
}

#ifndef AP_CUDA
Stages cuda_stages(int, int64_t, int64_t, int64_t) {
  throw std::runtime_error("the compiled module was built without CUDA");
}
#endif

}  // namespace agentprim
