#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace agentprim {

void parallel_for(int64_t count, int64_t threads, int64_t bytes,
                  const std::function<void(int64_t)>& task) {
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (int64_t i = next++; i < count && !failed; i = next++) task(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  const int64_t wanted = std::min({threads, count, 1 + bytes / kBytesPerThread});
  if (wanted > 1) {
    helpers.reserve(wanted - 1);
    try {
      while (static_cast<int64_t>(helpers.size()) < wanted - 1) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // no more threads to be had: those that started, and this one, do all of it
    }
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace agentprim
