#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "staging_ring.h"

namespace agentprim {

namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32;

struct PageList {
  int32_t pages[kPagesPerStage];
};

template <typename Unit>
__global__ void __launch_bounds__(kThreads)
    pack_rows(const __grid_constant__ Packing packing, const __grid_constant__ PageList list,
              int64_t rows) {
  copy_rows<Unit>(packing, list.pages, rows,
                  int64_t{blockIdx.x} * kWarps + threadIdx.x / 32, int64_t{gridDim.x} * kWarps,
                  threadIdx.x % 32);
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("staging ring: ") + what + " failed: " +
                             cudaGetErrorString(error));
  }
}

// torch has one current device with us: leave it as it was
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "asking for the device");
    check(cudaSetDevice(device), "choosing the device");
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

class CudaStage final : public Stage {
 public:
  // freed by the destructor also where a later step of making it fails
  CudaStage(int device_index, int64_t blocks) : device_index_(device_index), blocks_(blocks) {}
  CudaStage(const CudaStage&) = delete;

  void make(int64_t bytes) {
    void* memory = nullptr;
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    // the host sleeps while it waits instead of keeping a core busy
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync),
          "making an event");
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "allocating pinned memory");
    host = static_cast<char*>(memory);
    check(cudaMalloc(&memory, bytes), "allocating device memory");
    device = static_cast<char*>(memory);
  }

  ~CudaStage() override {
    // errors are of no use here: at the end of the process the driver may be gone already
    if (stream_ != nullptr) {
      cudaStreamSynchronize(stream_);
      cudaStreamDestroy(stream_);
    }
    if (event_ != nullptr) cudaEventDestroy(event_);
    if (device != nullptr) cudaFree(device);
    if (host != nullptr) cudaFreeHost(host);
  }

  void follow(void* stream) override {
    // Python puts the device back that was current before the call
    check(cudaSetDevice(device_index_), "choosing the device");
    check(cudaEventRecord(event_, static_cast<cudaStream_t>(stream)), "recording an event");
    check(cudaStreamWaitEvent(stream_, event_, 0), "waiting for an event");
  }

  void copy_rows(const Packing& whole, const int32_t* pages, int64_t num_pages) override {
    const Packing packing = with_long_rows(whole);
    PageList list;
    for (int64_t i = 0; i < num_pages; ++i) list.pages[i] = pages[i];
    const int64_t rows = num_pages * packing.rows_of_page();
    switch (unit_bytes(packing)) {
      case 16: return start<Unit16>(packing, list, rows);
      case 8: return start<uint64_t>(packing, list, rows);
      case 4: return start<uint32_t>(packing, list, rows);
      default: return start<uint16_t>(packing, list, rows);
    }
  }

  void copy_bytes(char* out, const char* in, int64_t bytes) override {
    check(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDefault, stream_), "a transfer");
  }

  void record() override { check(cudaEventRecord(event_, stream_), "recording an event"); }

  void hold(void* stream) override {
    check(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), event_, 0),
          "waiting for an event");
  }

  void wait() override { check(cudaEventSynchronize(event_), "waiting for a transfer"); }

  void drain() noexcept override { cudaStreamSynchronize(stream_); }

 private:
  // a capped grid: the rest of the device goes on with what it runs
  template <typename Unit>
  void start(const Packing& packing, const PageList& list, int64_t rows) {
    const int64_t most = (rows + kWarps - 1) / kWarps;
    const auto blocks = static_cast<unsigned>(most < blocks_ ? most : blocks_);
    pack_rows<Unit><<<blocks, kThreads, 0, stream_>>>(packing, list, rows);
    check(cudaGetLastError(), "starting the gathering kernel");
  }

  int device_index_;
  int64_t blocks_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

}  // namespace

Stages cuda_stages(int device, int64_t count, int64_t bytes, int64_t blocks) {
  const OnDevice guard(device);
  Stages stages;
  while (static_cast<int64_t>(stages.size()) < count) {
    auto stage = std::make_unique<CudaStage>(device, blocks);
    stage->make(bytes);
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace agentprim
