#include <cstring>
#include <functional>
#include <stdexcept>

#include "staging_ring.h"

namespace agentprim {

namespace {

class HostStage final : public Stage {
 public:
  explicit HostStage(int64_t bytes) : staging_(new char[2 * bytes]) {
    host = staging_.get();
    device = host + bytes;
  }

  void follow(void*) override {}
  void copy_rows(const Packing& packing, const int32_t* pages, int64_t num_pages) override {
    const std::vector<int32_t> list(pages, pages + num_pages);
    queued_.push_back([=] { pack_pages(packing, list.data(), num_pages, 1); });
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
  std::unique_ptr<char[]> staging_;
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
