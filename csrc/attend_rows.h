// one attention task: some query rows of one KV head over some keys
#pragma once

#include <vector>

#include "aligned.h"
#include "attend.h"
#include "attend_tiles.h"

namespace agentprim {

// a tile that has come from memory is used for so many rows; then it is gone from the cache
constexpr int64_t kTaskRows = 4 * kTileRows;

// running softmax of a block of rows, kept over tiles and spans; merges with others of its kind
struct Partial {
  Partial() = default;
  Partial(int64_t padded, int64_t v_padded);
  void merge(const Partial& other);

  Aligned<float> max, sum, out;  // [padded], [padded], [padded][v_padded], not yet divided
};

// rows `first` to `first + count` of the rows (group member, query) that read one KV head
class RowBlock {
 public:
  RowBlock(const Attend& call, const Lanes& lanes, int64_t sequence, int64_t kv_head,
           int64_t first, int64_t count);

  // begin with nothing seen, then attend to tiles of the same head one by one
  void start();
  void attend(const TileRows& tile, const TileRows& following);
  // divide by the sum, with the sink in it, and write `out` and `lse`
  void finish(const Partial& state);

  Partial state;
  int32_t newest() const;  // extremes of what any row sees
  int32_t oldest() const;

 private:
  // up to kTileRows rows, and the extremes of what they see
  struct Group {
    int64_t first, count, padded;
    int32_t first_newest, last_newest, first_oldest, last_oldest;
  };

  void turn_queries(int64_t span);
  void lay_out_queries();
  void widen(const View& cache, const char* const* rows, int num_keys, int64_t padded,
             Aligned<float>& scratch, const char** wide) const;
  int64_t head_of(int64_t row) const { return kv_head_ * group_ + (first_ + row) / queries_; }
  int64_t query_of(int64_t row) const { return (first_ + row) % queries_; }

  const Attend& call_;
  const Lanes& lanes_;
  const int64_t sequence_, kv_head_, first_, count_, queries_, group_;
  const bool few_;
  const int64_t padded_, k_padded_, v_padded_;
  int64_t span_ = -1;  // for which queries are turned
  std::vector<Group> groups_;
  Aligned<char> turned_;              // [count][k_dim], storage dtype
  Aligned<float> query_rows_;         // [count][k_padded], scaled
  Aligned<float> query_columns_;      // of many rows: for each group [k_dim][its padded rows]
  Aligned<float> scores_, shrink_, keys_, values_;
  Aligned<int32_t> newest_, oldest_;  // [padded]: sees newest >= position > oldest
};

}  // namespace agentprim
