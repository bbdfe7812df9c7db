#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "staging_ring.h"

namespace agentprim {

namespace {

constexpr int kThreads = 512, kWarp = 32;
constexpr int kUnroll = 4;  // few blocks reach the bandwidth only with many loads on their way

struct PageList {
  int32_t pages[kPagesPerStage];
};

// one warp a row; neighbours in a warp copy neighbouring units
template <typename Unit>
__global__ void __launch_bounds__(kThreads)
    pack_rows(const __grid_constant__ Packing packing, const __grid_constant__ PageList list,
              int64_t rows, int64_t units) {
  const int lane = threadIdx.x % kWarp;
  const int64_t step = int64_t{gridDim.x} * (kThreads / kWarp);
  int64_t row = int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp;
  for (; row < rows; row += step) {
    const RowCopy at = locate(packing, list.pages, row);
    Unit* __restrict__ out = reinterpret_cast<Unit*>(at.out);
    const Unit* __restrict__ in = reinterpret_cast<const Unit*>(at.in);
    int64_t i = lane;
    for (; i + (kUnroll - 1) * kWarp < units; i += kUnroll * kWarp) {
      Unit held[kUnroll];
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) held[j] = in[i + j * kWarp];
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) out[i + j * kWarp] = held[j];
    }
    for (; i < units; i += kWarp) out[i] = in[i];
  }
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("staging ring: ") + what + " failed: " +
                             cudaGetErrorString(error));
  }
}

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
    // this runtime is linked in, so it has a current device of its own beside torch's
    check(cudaSetDevice(device_index_), "choosing the device");
    check(cudaEventRecord(event_, static_cast<cudaStream_t>(stream)), "recording an event");
    check(cudaStreamWaitEvent(stream_, event_, 0), "waiting for an event");
  }

  void copy_rows(const Packing& whole, const int32_t* pages, int64_t num_pages) override {
    const Packing packing = with_long_rows(whole);
    PageList list;
    for (int64_t i = 0; i < num_pages; ++i) list.pages[i] = pages[i];
    const int64_t rows = num_pages * packing.rows_of_page();
    const View& cache = packing.cache;
    // bits set somewhere in the addresses, strides and lengths: their lowest is the alignment
    const uint64_t bits = reinterpret_cast<uintptr_t>(packing.packed) |
                          reinterpret_cast<uintptr_t>(cache.data) | cache.layer_stride |
                          cache.page_stride | cache.head_stride | cache.slot_stride |
                          cache.row_bytes();
    if (bits % 16 == 0) {
      start<uint4>(packing, list, rows);
    } else if (bits % 8 == 0) {
      start<uint2>(packing, list, rows);
    } else if (bits % 4 == 0) {
      start<uint32_t>(packing, list, rows);
    } else {
      start<uint16_t>(packing, list, rows);
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
    const int64_t units = packing.cache.row_bytes() / static_cast<int64_t>(sizeof(Unit));
    const int64_t most = (rows + kThreads / kWarp - 1) / (kThreads / kWarp);
    const auto blocks = static_cast<unsigned>(most < blocks_ ? most : blocks_);
    pack_rows<Unit><<<blocks, kThreads, 0, stream_>>>(packing, list, rows, units);
    check(cudaGetLastError(), "starting the gathering kernel");
  }

  int device_index_;
  int64_t blocks_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

}  // namespace

Stages cuda_stages(int device, int64_t count, int64_t bytes, int64_t blocks) {
  check(cudaSetDevice(device), "choosing the device");
  Stages stages;
  while (static_cast<int64_t>(stages.size()) < count) {
    auto stage = std::make_unique<CudaStage>(device, blocks);
    stage->make(bytes);
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace agentprim
