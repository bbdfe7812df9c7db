#include "attend.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "attend_rows.h"
#include "parallel.h"

namespace agentprim {

namespace {

// what one thread does at a time: a block of rows over a part of their keys
struct Task {
  int64_t sequence, kv_head, first, count, begin, end;
  bool starts, ends;  // first or last part of its block
};

void check(const Attend& call) {
  check_spans(call.spans, call.k_cache.pages, call.k_cache.page_size);
  const int64_t batch = call.query.pages;
  for (int64_t sequence = 0; sequence < batch; ++sequence) {
    const int64_t from = call.span_starts[sequence], to = call.span_starts[sequence + 1];
    if (from < 0 || to < from || to > call.spans.count) {
      throw std::invalid_argument("span_starts must ascend from 0 to at most " +
                                  std::to_string(call.spans.count) + ", got " +
                                  std::to_string(from) + " and " + std::to_string(to));
    }
  }
  for (int64_t index = 0; index < call.spans.count; ++index) {
    const Span& span = call.spans.rows[index];
    const int64_t end = int64_t{span.positions_start} + span.length;
    if (span.positions_start >= 0 && end > call.num_gapped) {
      throw std::invalid_argument("key_positions must have at least " + std::to_string(end) +
                                  " entries, got " + std::to_string(call.num_gapped));
    }
  }
}

int64_t tokens_of(const Attend& call, int64_t sequence) {
  int64_t tokens = 0;
  for (int64_t index = call.span_starts[sequence]; index < call.span_starts[sequence + 1];
       ++index) {
    tokens += call.spans.rows[index].length;
  }
  return tokens;
}

// split keys among tasks only where rows alone do not keep all threads busy to the end
std::vector<Task> split(const Attend& call, int64_t threads) {
  const int64_t rows = call.query.heads / call.k_cache.heads * call.query.page_size;
  const int64_t blocks = (rows + kTaskRows - 1) / kTaskRows;
  const int64_t whole = std::max<int64_t>(1, call.query.pages * call.k_cache.heads * blocks);
  const int64_t parts = threads > 1 ? (4 * threads + whole - 1) / whole : 1;
  std::vector<Task> tasks;
  for (int64_t sequence = 0; sequence < call.query.pages; ++sequence) {
    const int64_t tokens = tokens_of(call, sequence);
    const int64_t share = std::max<int64_t>(4 * kTileKeys, (tokens + parts - 1) / parts);
    const int64_t step = (share + kTileKeys - 1) / kTileKeys * kTileKeys;
    for (int64_t head = 0; head < call.k_cache.heads; ++head) {
      for (int64_t first = 0; first < rows; first += kTaskRows) {
        const int64_t count = std::min(kTaskRows, rows - first);
        int64_t begin = 0;
        do {
          const int64_t end = std::min(begin + step, tokens);
          tasks.push_back({sequence, head, first, count, begin, end, begin == 0, end == tokens});
          begin = end;
        } while (begin < tokens);
      }
    }
  }
  return tasks;
}

// memory traffic, and arithmetic as if it were traffic
int64_t cost(const Attend& call, const std::vector<Task>& tasks) {
  int64_t bytes = 0;
  for (const Task& task : tasks) {
    const int64_t dims = call.k_cache.dim + call.v_cache.dim;
    bytes += (task.end - task.begin) * dims * (call.query.item + task.count / 3);
  }
  return bytes;
}

}  // namespace

void attend(const Attend& call, int64_t threads, const Lanes& lanes) {
  check(call);
  const std::vector<Task> tasks = split(call, threads);
  std::vector<Partial> partials(tasks.size());
  const auto block = [&](const Task& task) {
    return RowBlock(call, lanes, task.sequence, task.kv_head, task.first, task.count);
  };
  const auto run = [&](int64_t index) {
    const Task& task = tasks[index];
    RowBlock rows = block(task);
    Partial state = rows.run(task.begin, task.end);
    if (task.starts && task.ends) {
      rows.finish(state);
    } else {
      partials[index] = std::move(state);
    }
  };
  parallel_for(static_cast<int64_t>(tasks.size()), threads, cost(call, tasks), run);
  size_t merged = 0;
  for (size_t index = 0; index < tasks.size(); ++index) {
    if (tasks[index].starts) {
      merged = index;
    } else {
      partials[merged].merge(partials[index]);
      if (tasks[index].ends) block(tasks[index]).finish(partials[merged]);
    }
  }
}

}  // namespace agentprim
