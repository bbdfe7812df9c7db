#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "copy_pages.h"

namespace agentprim {

namespace {

constexpr int kThreads = 256;

// one block a row; neighbours in a block copy neighbouring units
template <typename Unit>
__global__ void copy_rows(PageCopy copy, int64_t rows, int64_t units) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const RowCopy at = locate(copy, row);
    for (int64_t i = threadIdx.x; i < units; i += kThreads) {
      reinterpret_cast<Unit*>(at.out)[i] = reinterpret_cast<const Unit*>(at.in)[i];
    }
  }
}

template <typename Unit>
void start(const PageCopy& copy, cudaStream_t stream) {
  const int64_t rows = copy.rows(), units = copy.in.row_bytes() / sizeof(Unit);
  const int64_t most = 0x7fffffff;
  const auto blocks = static_cast<unsigned>(rows < most ? rows : most);
  copy_rows<Unit><<<blocks, kThreads, 0, stream>>>(copy, rows, units);
}

// bits that are set somewhere in the addresses, strides and lengths: their lowest is the alignment
uint64_t bits_of(const View& view) {
  return reinterpret_cast<uintptr_t>(view.data) | view.layer_stride | view.page_stride |
         view.head_stride | view.slot_stride | view.row_bytes();
}

void check(cudaError_t error) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("copy_pages_ did not start: ") +
                             cudaGetErrorString(error));
  }
}

}  // namespace

void copy_pages_cuda(const PageCopy& whole, int device, void* stream) {
  if (whole.rows() == 0) return;
  // this runtime is linked in, so it has a current device of its own beside torch's
  check(cudaSetDevice(device));
  const PageCopy copy = with_long_rows(whole);
  const uint64_t bits = bits_of(copy.out) | bits_of(copy.in);
  const auto on = static_cast<cudaStream_t>(stream);
  if (bits % 16 == 0) {
    start<uint4>(copy, on);
  } else if (bits % 8 == 0) {
    start<uint2>(copy, on);
  } else if (bits % 4 == 0) {
    start<uint32_t>(copy, on);
  } else {
    start<uint16_t>(copy, on);
  }
  check(cudaGetLastError());
}

}  // namespace agentprim
