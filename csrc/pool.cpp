#include "pool.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace agentprim {

namespace {

std::string text(int64_t n) { return std::to_string(n); }

[[noreturn]] void refuse(const char* argument, const std::string& must, const std::string& got) {
  throw std::invalid_argument(std::string(argument) + " must " + must + ", got " + got);
}

}  // namespace

PoolExhausted::PoolExhausted(int64_t requested, int64_t free)
    : std::runtime_error("requested " + text(requested) + " pages but only " + text(free) +
                         " are free"),
      requested(requested), free(free) {}

PagePool::PagePool(int64_t num_pages, int64_t page_size) : page_size_(page_size) {
  if (num_pages < 1) refuse("num_pages", "be at least 1", text(num_pages));
  if (page_size < 1) refuse("page_size", "be at least 1", text(page_size));
  references_.assign(num_pages, 0);
  fill_.assign(num_pages, 0);
  free_.reserve(num_pages);
  for (int64_t page = num_pages - 1; page >= 0; --page) free_.push_back(page);
}

int64_t PagePool::num_free() const {
  std::lock_guard<std::mutex> guard(lock_);
  return static_cast<int64_t>(free_.size());
}

int64_t PagePool::refcount(int64_t page) const {
  std::lock_guard<std::mutex> guard(lock_);
  check_range("page", page);
  return references_[page];
}

int64_t PagePool::fill(int64_t page) const {
  std::lock_guard<std::mutex> guard(lock_);
  check_range("page", page);
  return fill_[page];
}

void PagePool::check_range(const char* argument, int64_t page) const {
  if (page < 0 || page >= num_pages()) {
    refuse(argument, "be in 0.." + text(num_pages() - 1), text(page));
  }
}

void PagePool::check_live(const char* argument, int64_t page) const {
  check_range(argument, page);
  if (!references_[page]) refuse(argument, "be live", text(page) + ", which is free");
}

int64_t PagePool::pop(int64_t fill) noexcept {
  const int64_t page = free_.back();
  free_.pop_back();
  references_[page] = 1;
  fill_[page] = fill;
  return page;
}

std::vector<int64_t> PagePool::allocate(int64_t count) {
  std::lock_guard<std::mutex> guard(lock_);
  if (count < 0) refuse("count", "be at least 0", text(count));
  const int64_t free = static_cast<int64_t>(free_.size());
  if (count > free) throw PoolExhausted(count, free);
  std::vector<int64_t> pages(count);
  for (int64_t& page : pages) page = pop(0);
  return pages;
}

void PagePool::retain(const std::vector<int64_t>& pages) {
  std::lock_guard<std::mutex> guard(lock_);
  for (const int64_t page : pages) check_live("pages", page);
  for (const int64_t page : pages) ++references_[page];
}

void PagePool::release(const std::vector<int64_t>& pages) {
  std::lock_guard<std::mutex> guard(lock_);
  for (const int64_t page : pages) check_live("pages", page);
  size_t done = 0;
  while (done < pages.size() && references_[pages[done]]) --references_[pages[done++]];
  for (size_t i = 0; i < done; ++i) ++references_[pages[i]];
  if (done < pages.size()) {
    const int64_t page = pages[done];
    refuse("pages", "have a reference for each release",
           text(page) + " " + text(std::count(pages.begin(), pages.end(), page)) +
               " times with " + text(references_[page]));
  }
  const auto before = static_cast<std::ptrdiff_t>(free_.size());
  for (const int64_t page : pages) {
    if (--references_[page] == 0) {
      fill_[page] = 0;
      free_.push_back(page);
    }
  }
  // last released, first reused; pages of one release come back in its order
  std::reverse(free_.begin() + before, free_.end());
}

void PagePool::check_tails(const std::vector<Tail>& tails,
                           const std::vector<int64_t>& counts) const {
  if (tails.size() != counts.size()) {
    refuse("counts", "have " + text(tails.size()) + " entries like tails", text(counts.size()));
  }
  for (const auto& [page, fill] : tails) {
    if (page == -1) continue;
    check_live("tails", page);
    if (fill < 0 || fill > page_size_) {
      refuse("tails", "have fill marks in 0.." + text(page_size_), text(fill));
    }
  }
  for (const int64_t count : counts) {
    if (count < 0) refuse("counts", "be at least 0", text(count));
  }
}

std::vector<Claim> PagePool::claim(const std::vector<Tail>& tails,
                                   const std::vector<int64_t>& counts) {
  std::lock_guard<std::mutex> guard(lock_);
  check_tails(tails, counts);
  std::vector<Claim> claims(tails.size());
  int64_t requested = 0;
  size_t done = 0;
  try {
    for (; done < tails.size(); ++done) {
      const auto [page, fill] = tails[done];
      auto& [taken, pages] = claims[done];
      taken = page >= 0 && fill_[page] == fill ? std::min(counts[done], page_size_ - fill) : 0;
      const int64_t rest = counts[done] - taken;
      const int64_t needed = rest / page_size_ + (rest % page_size_ != 0);
      requested += needed;
      if (needed <= num_pages()) pages.resize(needed);
      if (page >= 0) fill_[page] += taken;
    }
    const int64_t free = static_cast<int64_t>(free_.size());
    if (requested > free) throw PoolExhausted(requested, free);
  } catch (...) {
    while (done-- > 0) {
      if (tails[done].first >= 0) fill_[tails[done].first] -= claims[done].first;
    }
    throw;
  }
  for (size_t row = 0; row < tails.size(); ++row) {
    int64_t rest = counts[row] - claims[row].first;
    for (int64_t& page : claims[row].second) {
      page = pop(std::min(rest, page_size_));
      rest -= page_size_;
    }
  }
  return claims;
}

}  // namespace agentprim
