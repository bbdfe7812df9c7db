// one attention task: some query rows of one KV head over some keys
#pragma once

#include <vector>

#include "attend.h"

namespace agentprim {

// running softmax of a block of rows, kept over tiles and spans; merges with others of its kind
struct Partial {
  Partial() = default;
  Partial(int64_t padded, int64_t v_dim);
  void merge(const Partial& other);

  std::vector<float> max, sum, out;  // [padded], [padded], [padded][v_dim], not yet divided
};

// rows `first` to `first + count` of the rows (group member, query) that read one KV head
class RowBlock {
 public:
  RowBlock(const Attend& call, const Lanes& lanes, int64_t sequence, int64_t kv_head,
           int64_t first, int64_t count);

  // attend to tokens `begin` to `end` of the sequence's spans, counted one after the other
  Partial run(int64_t begin, int64_t end);
  // divide by the sum, with the sink in it, and write `out` and `lse`
  void finish(const Partial& state);

 private:
  void turn_queries(int64_t span);
  void run_tile(const Span& span, int64_t begin, int64_t end, Partial& state);
  // ask for rows that are wanted soon: pages lie scattered, no processor foresees the next
  void prefetch(const View& cache, const Span& span, int64_t begin, int64_t end);
  void gather(const View& cache, const Span& span, int64_t begin, int64_t end, int64_t padded,
              std::vector<float>& scratch, const float** rows);
  int64_t head_of(int64_t row) const { return kv_head_ * group_ + (first_ + row) / queries_; }
  int64_t query_of(int64_t row) const { return (first_ + row) % queries_; }

  const Attend& call_;
  const Lanes& lanes_;
  const int64_t sequence_, kv_head_, first_, count_, queries_, group_, v_dim_;
  int64_t padded_, v_padded_;
  std::vector<char> turned_;                    // [count][k_dim], storage dtype
  std::vector<float> back_, query_rows_, query_columns_;
  std::vector<float> scores_, shrink_, keys_, values_;
  std::vector<int32_t> newest_, oldest_;        // [padded]: sees newest >= position > oldest
  int32_t at_[kTileKeys];
  const float* key_rows_[kTileKeys];
  const float* value_rows_[kTileKeys];
};

}  // namespace agentprim
