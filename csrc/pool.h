// page allocator: reference counts and fill marks; knows no memory, only page numbers
#pragma once

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace agentprim {

struct PoolExhausted : std::runtime_error {
  PoolExhausted(int64_t requested, int64_t free);
  int64_t requested, free;
};

// slots that a claim took behind a sequence's tail, and the new pages that hold the rest
using Claim = std::pair<int64_t, std::vector<int64_t>>;
using Tail = std::pair<int64_t, int64_t>;  // page or -1, slots of it that the sequence uses

// every method is atomic: it happens as a whole under one lock, or throws and changes nothing,
// also when memory runs out
class PagePool {
 public:
  PagePool(int64_t num_pages, int64_t page_size);

  int64_t num_pages() const { return static_cast<int64_t>(references_.size()); }
  int64_t page_size() const { return page_size_; }
  int64_t num_free() const;
  int64_t refcount(int64_t page) const;
  int64_t fill(int64_t page) const;

  std::vector<int64_t> allocate(int64_t count);
  void retain(const std::vector<int64_t>& pages);
  void release(const std::vector<int64_t>& pages);
  std::vector<Claim> claim(const std::vector<Tail>& tails, const std::vector<int64_t>& counts);

 private:
  void check_range(const char* argument, int64_t page) const;
  void check_live(const char* argument, int64_t page) const;
  void check_tails(const std::vector<Tail>& tails, const std::vector<int64_t>& counts) const;
  int64_t pop(int64_t fill) noexcept;

  mutable std::mutex lock_;
  int64_t page_size_;
  std::vector<int64_t> references_, fill_;
  std::vector<int64_t> free_;  // a stack with room for every page, so that a push cannot fail
};

}  // namespace agentprim
