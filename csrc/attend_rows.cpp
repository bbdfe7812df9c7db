#include "attend_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace agentprim {

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// e^(x - max), 0 for what saw nothing
float weight(float x, float max) { return x == kNothing ? 0.0f : std::exp(x - max); }

}  // namespace

Partial::Partial(int64_t padded, int64_t v_padded)
    : max(padded, kNothing), sum(padded, 0.0f), out(padded * v_padded, 0.0f) {}

void Partial::merge(const Partial& other) {
  const size_t dims = out.size() / max.size();
  for (size_t row = 0; row < max.size(); ++row) {
    const float top = std::max(max[row], other.max[row]);
    const float mine = weight(max[row], top), theirs = weight(other.max[row], top);
    max[row] = top;
    sum[row] = sum[row] * mine + other.sum[row] * theirs;
    for (size_t i = row * dims; i < (row + 1) * dims; ++i) {
      out[i] = out[i] * mine + other.out[i] * theirs;
    }
  }
}

RowBlock::RowBlock(const Attend& call, const Lanes& lanes, int64_t sequence, int64_t kv_head,
                   int64_t first, int64_t count)
    : call_(call), lanes_(lanes), sequence_(sequence), kv_head_(kv_head), first_(first),
      count_(count), queries_(call.query.page_size),
      group_(call.query.heads / call.k_cache.heads), few_(count <= kFewRows),
      padded_(round_up(count, lanes.width)), k_padded_(round_up(call.query.dim, lanes.width)),
      v_padded_(round_up(call.v_cache.dim, lanes.width)), newest_(padded_, kMin),
      oldest_(padded_, kMax) {
  for (int64_t row = 0; row < count; ++row) {
    const int32_t position = call.positions[sequence * queries_ + query_of(row)];
    if (position < 0) continue;  // padding sees nothing
    newest_[row] = position;
    oldest_[row] = call.window ? std::max<int64_t>(kMin, position - call.window) : kMin;
  }
  for (int64_t row = 0; row < count; row += kTileRows) {
    const int64_t rows = std::min<int64_t>(kTileRows, count - row);
    const auto newest = std::minmax_element(&newest_[row], &newest_[row] + rows);
    const auto oldest = std::minmax_element(&oldest_[row], &oldest_[row] + rows);
    groups_.push_back({row, rows, round_up(rows, lanes.width), *newest.first, *newest.second,
                       *oldest.first, *oldest.second});
  }
}

int32_t RowBlock::newest() const {
  int32_t newest = kMin;
  for (const Group& group : groups_) newest = std::max(newest, group.last_newest);
  return newest;
}

int32_t RowBlock::oldest() const {
  int32_t oldest = kMax;
  for (const Group& group : groups_) oldest = std::min(oldest, group.first_oldest);
  return oldest;
}

void RowBlock::start() {
  state = Partial(padded_, v_padded_);
  scores_.resize(kTileKeys * (few_ ? count_ : groups_[0].padded));
  shrink_.resize(groups_[0].padded);
}

void RowBlock::turn_queries(int64_t span) {
  const int64_t half = call_.rotation.half, k_dim = call_.query.dim;
  const int64_t bytes = call_.query.row_bytes();
  const float* sin = call_.rotation.sin(0, span);
  Aligned<float> back(half);
  for (int64_t i = 0; i < half; ++i) back[i] = -sin[i];
  turned_.resize(count_ * bytes);
  for (int64_t row = 0; row < count_; ++row) {
    std::memcpy(turned_.data() + row * bytes,
                call_.query.at(0, sequence_, head_of(row), query_of(row)), bytes);
  }
  const int dtype = static_cast<int>(call_.dtype);
  const Turn rows{turned_.data(), bytes, turned_.data(), bytes, count_, turned_.data()};
  lanes_.turn[dtype](rows, call_.rotation.cos(0, span), back.data(), half, call_.interleaved);
  query_rows_.resize(count_ * k_padded_);  // zeros behind k_dim, and they stay
  for (int64_t row = 0; row < count_; ++row) {
    float* query = query_rows_.data() + row * k_padded_;
    lanes_.widen[dtype](query, turned_.data() + row * bytes, k_dim);
    for (int64_t d = 0; d < k_dim; ++d) query[d] *= call_.scale;
  }
  if (!few_) lay_out_queries();
}

void RowBlock::lay_out_queries() {
  const int64_t k_dim = call_.query.dim;
  query_columns_.resize(padded_ * k_dim);
  for (const Group& group : groups_) {
    float* columns = query_columns_.data() + group.first * k_dim;
    for (int64_t row = 0; row < group.count; ++row) {
      const float* query = query_rows_.data() + (group.first + row) * k_padded_;
      for (int64_t d = 0; d < k_dim; ++d) columns[d * group.padded + row] = query[d];
    }
  }
}

void RowBlock::attend(const TileRows& tile, const TileRows& following) {
  if (tile.span != span_) turn_queries(span_ = tile.span);
  const int32_t first = tile.at[0], last = tile.at[tile.num_keys - 1];  // positions ascend
  const char *key_rows[kTileKeys], *value_rows[kTileKeys];
  Tile part{tile.keys, tile.values, following.keys, tile.at, tile.num_keys, false};
  if (!few_) {
    widen(call_.k_cache, tile.keys, tile.num_keys, call_.k_cache.dim, keys_, key_rows);
    widen(call_.v_cache, tile.values, tile.num_keys, v_padded_, values_, value_rows);
    part.keys = key_rows;
    part.values = value_rows;
  }
  for (const Group& group : groups_) {
    if (first > group.last_newest || last <= group.first_oldest) continue;
    part.masked = last > group.first_newest || first <= group.last_oldest;
    const float* queries =
        few_ ? query_rows_.data() : query_columns_.data() + group.first * call_.query.dim;
    const Rows rows{static_cast<int>(group.count), static_cast<int>(group.padded),
                    static_cast<int>(call_.query.dim), static_cast<int>(call_.v_cache.dim),
                    static_cast<int>(k_padded_), static_cast<int>(v_padded_), queries,
                    newest_.data() + group.first, oldest_.data() + group.first, call_.softcap,
                    scores_.data(), shrink_.data(), state.max.data() + group.first,
                    state.sum.data() + group.first, state.out.data() + group.first * v_padded_};
    if (few_) {
      lanes_.attend_few[static_cast<int>(call_.dtype)](part, rows);
    } else {
      lanes_.attend_many(part, rows);
    }
  }
}

// lists stay filled up, since rows of the scratch and of the cache are taken alike
void RowBlock::widen(const View& cache, const char* const* rows, int num_keys, int64_t padded,
                     Aligned<float>& scratch, const char** wide) const {
  const bool direct = call_.dtype == Dtype::f32 && padded == cache.dim;
  if (!direct) scratch.resize(kTileKeys * padded);  // zeros behind the dims, and they stay
  const auto widen = lanes_.widen[static_cast<int>(call_.dtype)];
  for (int n = 0; n < static_cast<int>(round_up(num_keys, 16)); ++n) {
    float* to = scratch.data() + n * padded;
    if (!direct) widen(to, rows[n], cache.dim);
    wide[n] = direct ? rows[n] : reinterpret_cast<const char*>(to);
  }
}

void RowBlock::finish(const Partial& state) {
  const int64_t v_dim = call_.v_cache.dim;
  const bool no_spans = call_.span_starts[sequence_] == call_.span_starts[sequence_ + 1];
  Aligned<float> scaled(v_dim);
  for (int64_t row = 0; row < count_; ++row) {
    const int64_t head = head_of(row), query = query_of(row);
    const float sink = call_.sinks && !no_spans ? call_.sinks[head] : kNothing;
    const float top = std::max(state.max[row], sink), mine = weight(state.max[row], top);
    const float total = state.sum[row] * mine + weight(sink, top);
    const bool nothing = total == 0.0f;  // not so where a score was NaN
    call_.lse[(sequence_ * call_.query.heads + head) * queries_ + query] =
        nothing ? kNothing : top + std::log(total);
    const float share = nothing ? 0.0f : mine / total;
    for (int64_t d = 0; d < v_dim; ++d) scaled[d] = state.out[row * v_padded_ + d] * share;
    const int64_t at = ((sequence_ * queries_ + query) * call_.query.heads + head) * v_dim;
    lanes_.narrow[static_cast<int>(call_.dtype)](call_.out + at * call_.query.item, scaled.data(),
                                                 v_dim);
  }
}

}  // namespace agentprim
