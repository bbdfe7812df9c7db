#include "parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace agentprim {

namespace {

// the tasks of one call
struct Job {
  const std::function<void(int64_t)>& task;
  const int64_t count;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  int64_t helpers = 0;  // at work; guarded by the lock of the helpers
  std::condition_variable done;

  void work() {
    try {
      for (int64_t i = next++; i < count && !failed; i = next++) task(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  }
};

class Helpers {
 public:
  // ask up to `wanted` helpers to join in
  void invite(Job& job, int64_t wanted) {
    const std::lock_guard<std::mutex> hold(lock_);
    invitations_.insert(invitations_.end(), wanted, &job);
    try {
      for (; threads_ < static_cast<int64_t>(invitations_.size()); ++threads_) {
        std::thread([this] { run(); }).detach();
      }
    } catch (const std::system_error&) {
      // no more threads to be had: those that there are, and the caller, do all of it
    }
    for (int64_t i = 0; i < wanted; ++i) wake_.notify_one();
  }

  // take back what nobody has accepted, wait for who is at work
  void finish(Job& job) {
    std::unique_lock<std::mutex> hold(lock_);
    const auto end = std::remove(invitations_.begin(), invitations_.end(), &job);
    invitations_.erase(end, invitations_.end());
    job.done.wait(hold, [&job] { return job.helpers == 0; });
  }

 private:
  void run() {
    std::unique_lock<std::mutex> hold(lock_);
    while (true) {
      wake_.wait(hold, [this] { return !invitations_.empty(); });
      Job& job = *invitations_.front();
      invitations_.pop_front();
      ++job.helpers;
      hold.unlock();
      job.work();
      hold.lock();
      if (--job.helpers == 0) job.done.notify_one();
    }
  }

  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<Job*> invitations_;
  int64_t threads_ = 0;
};

std::atomic<Helpers*> everyone{nullptr};

// never destroyed: helpers sleep until the process ends. A child of a fork has none of the
// threads, and perhaps a held lock, so it begins with new ones.
Helpers& helpers() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { everyone = nullptr; });
  static_cast<void>(registered);
  Helpers* found = everyone;
  if (!found) {
    auto* made = new Helpers;
    if (everyone.compare_exchange_strong(found, made)) return *made;
    delete made;
  }
  return *found;
}

}  // namespace

int64_t share(int64_t items, int64_t threads) {
  return std::clamp<int64_t>(items / (8 * threads), 1, 32);
}

void parallel_for(int64_t count, int64_t threads, int64_t bytes,
                  const std::function<void(int64_t)>& task) {
  Job job{task, count};
  const int64_t wanted = std::min({threads, count, 1 + bytes / kBytesPerThread});
  if (wanted > 1) helpers().invite(job, wanted - 1);
  job.work();
  if (wanted > 1) helpers().finish(job);
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace agentprim
