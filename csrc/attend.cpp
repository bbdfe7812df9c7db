#include "attend.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "attend_rows.h"
#include "parallel.h"

namespace agentprim {

namespace {

// what one thread does at a time: a block of rows, of some KV heads, over a part of their keys
struct Task {
  int64_t sequence, first_head, num_heads, first, count, begin, end;
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

// Few rows read keys and values once, so a task takes all heads as they lie in memory. Many rows
// compute, each head for itself. Keys are split only where that does not keep all threads busy.
std::vector<Task> split(const Attend& call, int64_t threads) {
  const int64_t rows = call.query.heads / call.k_cache.heads * call.query.page_size;
  const int64_t num_heads = rows <= kFewRows ? call.k_cache.heads : 1;
  const int64_t blocks = (rows + kTaskRows - 1) / kTaskRows * (call.k_cache.heads / num_heads);
  const int64_t whole = std::max<int64_t>(1, call.query.pages * blocks);
  const int64_t wanted = num_heads > 1 ? threads : 4 * threads;  // merging costs few rows more
  const int64_t parts = threads > 1 ? (wanted + whole - 1) / whole : 1;
  std::vector<Task> tasks;
  for (int64_t sequence = 0; sequence < call.query.pages; ++sequence) {
    const int64_t tokens = tokens_of(call, sequence);
    const int64_t share = std::max<int64_t>(4 * kTileKeys, (tokens + parts - 1) / parts);
    const int64_t step = (share + kTileKeys - 1) / kTileKeys * kTileKeys;
    for (int64_t head = 0; head < call.k_cache.heads; head += num_heads) {
      for (int64_t first = 0; first < rows; first += kTaskRows) {
        const int64_t count = std::min(kTaskRows, rows - first);
        int64_t begin = 0;
        do {
          const int64_t end = std::min(begin + step, tokens);
          tasks.push_back({sequence, head, num_heads, first, count, begin, end, begin == 0,
                           end == tokens});
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
    const int64_t dims = task.num_heads * (call.k_cache.dim + call.v_cache.dim);
    bytes += (task.end - task.begin) * dims * (call.query.item + task.count / 3);
  }
  return bytes;
}

std::vector<RowBlock> blocks_of(const Attend& call, const Task& task, const Lanes& lanes) {
  std::vector<RowBlock> blocks;
  blocks.reserve(task.num_heads);
  for (int64_t head = task.first_head; head < task.first_head + task.num_heads; ++head) {
    blocks.emplace_back(call, lanes, task.sequence, head, task.first, task.count);
  }
  return blocks;
}

// each tile is given to its head while the rows of the following one come closer
void run(const Attend& call, const Task& task, std::vector<RowBlock>& blocks) {
  for (RowBlock& block : blocks) block.start();
  TileReader reader(call, task.sequence, task.first_head, task.num_heads, task.begin, task.end,
                    blocks[0].newest(), blocks[0].oldest());
  TileRows tiles[2];
  bool more = reader.next(tiles[0]);
  for (int now = 0; more; now = 1 - now) {
    more = reader.next(tiles[1 - now]);
    blocks[tiles[now].head].attend(tiles[now], tiles[more ? 1 - now : now]);
  }
}

}  // namespace

void attend(const Attend& call, int64_t threads, const Lanes& lanes) {
  check(call);
  const std::vector<Task> tasks = split(call, threads);
  std::vector<std::vector<Partial>> partials(tasks.size());  // of each head, where not all of it
  const auto run_one = [&](int64_t index) {
    const Task& task = tasks[index];
    std::vector<RowBlock> blocks = blocks_of(call, task, lanes);
    run(call, task, blocks);
    for (RowBlock& block : blocks) {
      if (task.starts && task.ends) {
        block.finish(block.state);
      } else {
        partials[index].push_back(std::move(block.state));
      }
    }
  };
  parallel_for(static_cast<int64_t>(tasks.size()), threads, cost(call, tasks), run_one);
  size_t merged = 0;
  for (size_t index = 0; index < tasks.size(); ++index) {
    if (tasks[index].starts) {
      merged = index;
      continue;
    }
    for (size_t head = 0; head < partials[index].size(); ++head) {
      partials[merged][head].merge(partials[index][head]);
    }
    if (!tasks[index].ends) continue;
    std::vector<RowBlock> blocks = blocks_of(call, tasks[index], lanes);
    for (size_t head = 0; head < blocks.size(); ++head) {
      blocks[head].finish(partials[merged][head]);
    }
  }
}

}  // namespace agentprim
