// share independent tasks among threads
#pragma once

#include <cstdint>
#include <functional>

namespace agentprim {

// below this many bytes of memory traffic, waking a thread costs more than it saves
constexpr int64_t kBytesPerThread = 1 << 18;

// how many of `items` a task should take: few enough for all threads to be busy to the end, and
// enough for the next one to be foreseen
int64_t share(int64_t items, int64_t threads);

// run `task(i)` for each i below `count`, on at most `threads` threads and only as many as there
// is work for; tasks go to whoever is free. Throws the first exception of a task, after all
// threads have stopped.
//
// Helpers are kept and sleep between calls. A helper that has not woken when the work is done is
// not waited for, so a busy machine costs little. In a forked child helpers start anew.
void parallel_for(int64_t count, int64_t threads, int64_t bytes,
                  const std::function<void(int64_t)>& task);

}  // namespace agentprim
