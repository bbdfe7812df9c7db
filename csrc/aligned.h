// vectors that start at a cache line: a load across two lines costs twice
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace agentprim {

template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <typename U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* at, size_t) { ::operator delete(at, kLine); }
  friend bool operator==(LineAllocator, LineAllocator) { return true; }
  friend bool operator!=(LineAllocator, LineAllocator) { return false; }
};

template <typename T>
using Aligned = std::vector<T, LineAllocator<T>>;

}  // namespace agentprim
