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

Span part_of(const Span& span, int64_t begin, int64_t end) {
  return {span.page_start, static_cast<int32_t>(span.first_slot + begin),
          static_cast<int32_t>(end - begin), 0, -1};
}

}  // namespace

Partial::Partial(int64_t padded, int64_t v_dim)
    : max(padded, kNothing), sum(padded, 0.0f), out(padded * v_dim, 0.0f) {}

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
      group_(call.query.heads / call.k_cache.heads), v_dim_(call.v_cache.dim),
      padded_(round_up(count, lanes.width)), v_padded_(round_up(v_dim_, lanes.width)),
      newest_(padded_, kMin), oldest_(padded_, kMax) {
  for (int64_t row = 0; row < count; ++row) {
    const int32_t position = call.positions[sequence * queries_ + query_of(row)];
    if (position < 0) continue;  // padding sees nothing
    newest_[row] = position;
    oldest_[row] = call.window ? std::max<int64_t>(kMin, position - call.window) : kMin;
  }
}

Partial RowBlock::run(int64_t begin, int64_t end) {
  Partial state(padded_, v_padded_);
  const int64_t k_dim = call_.query.dim;
  turned_.resize(count_ * k_dim * call_.query.item);
  back_.resize(call_.rotation.half);
  query_rows_.resize(count_ * k_dim);
  query_columns_.assign(padded_ * k_dim, 0.0f);
  scores_.resize(kTileKeys * padded_);
  shrink_.resize(padded_);
  int64_t start = 0;  // of the span, among all tokens of the sequence
  for (int64_t index = call_.span_starts[sequence_]; index < call_.span_starts[sequence_ + 1];
       start += call_.spans.rows[index++].length) {
    const Span& span = call_.spans.rows[index];
    const int64_t to = std::min<int64_t>(end - start, span.length);
    int64_t from = std::max<int64_t>(begin - start, 0);
    if (from < to) turn_queries(index);
    for (; from < to; from += kTileKeys) {
      run_tile(span, from, std::min<int64_t>(from + kTileKeys, to), state);
    }
  }
  return state;
}

void RowBlock::turn_queries(int64_t span) {
  const int64_t half = call_.rotation.half, k_dim = call_.query.dim;
  const int64_t bytes = call_.query.row_bytes();
  const float* sin = call_.rotation.sin(0, span);
  for (int64_t i = 0; i < half; ++i) back_[i] = -sin[i];
  for (int64_t row = 0; row < count_; ++row) {
    std::memcpy(turned_.data() + row * bytes,
                call_.query.at(0, sequence_, head_of(row), query_of(row)), bytes);
  }
  const int dtype = static_cast<int>(call_.dtype);
  lanes_.turn[dtype](turned_.data(), bytes, turned_.data(), bytes, count_,
                     call_.rotation.cos(0, span), back_.data(), half, call_.interleaved);
  lanes_.widen[dtype](query_rows_.data(), turned_.data(), count_ * k_dim);
  for (int64_t row = 0; row < count_; ++row) {
    for (int64_t d = 0; d < k_dim; ++d) {
      query_columns_[d * padded_ + row] = query_rows_[row * k_dim + d] *= call_.scale;
    }
  }
}

void RowBlock::run_tile(const Span& span, int64_t begin, int64_t end, Partial& state) {
  const int num_keys = static_cast<int>(end - begin);
  for (int n = 0; n < num_keys; ++n) {
    at_[n] = span.positions_start < 0
                 ? span.position + static_cast<int32_t>(begin) + n
                 : call_.key_positions[span.positions_start + begin + n];
  }
  const auto newest = std::minmax_element(newest_.begin(), newest_.begin() + count_);
  const auto oldest = std::minmax_element(oldest_.begin(), oldest_.begin() + count_);
  const int32_t first = at_[0], last = at_[num_keys - 1];  // positions ascend
  if (first > *newest.second || last <= *oldest.first) return;
  const bool masked = last > *newest.first || first <= *oldest.second;
  prefetch(call_.v_cache, span, begin, end);
  gather(call_.k_cache, span, begin, end, call_.k_cache.dim, keys_, key_rows_);
  gather(call_.v_cache, span, begin, end, v_padded_, values_, value_rows_);
  prefetch(call_.k_cache, span, end, std::min<int64_t>(end + kTileKeys, span.length));
  const Tile tile{key_rows_, value_rows_, at_, num_keys, masked};
  const Rows rows{static_cast<int>(count_), static_cast<int>(padded_),
                  static_cast<int>(call_.query.dim), static_cast<int>(v_padded_),
                  query_columns_.data(), query_rows_.data(), newest_.data(), oldest_.data(),
                  call_.softcap, scores_.data(), shrink_.data(), state.max.data(),
                  state.sum.data(), state.out.data()};
  lanes_.attend(tile, rows);
}

void RowBlock::prefetch(const View& cache, const Span& span, int64_t begin, int64_t end) {
  const auto visit = [&](int64_t page, int64_t offset, int64_t count, int64_t) {
    for (int64_t n = 0; n < count; ++n) {
      const char* row = cache.at(0, page, kv_head_, offset + n);
      for (int64_t byte = 0; byte < cache.row_bytes(); byte += 64) __builtin_prefetch(row + byte);
    }
  };
  for_each_page(call_.spans, part_of(span, begin, end), cache.page_size, visit);
}

void RowBlock::gather(const View& cache, const Span& span, int64_t begin, int64_t end,
                      int64_t padded, std::vector<float>& scratch, const float** rows) {
  const bool direct = call_.dtype == Dtype::f32 && padded == cache.dim;
  if (!direct && scratch.empty()) scratch.resize(kTileKeys * padded);  // the padding stays zero
  const auto widen = lanes_.widen[static_cast<int>(call_.dtype)];
  const auto visit = [&](int64_t page, int64_t offset, int64_t count, int64_t first) {
    const char* row = cache.at(0, page, kv_head_, offset);
    float* to = scratch.data() + first * padded;
    if (!direct && padded == cache.dim && cache.slot_stride == cache.row_bytes()) {
      widen(to, row, count * cache.dim);
    }
    for (int64_t n = 0; n < count; ++n, row += cache.slot_stride, to += padded) {
      rows[first + n] = direct ? reinterpret_cast<const float*>(row) : to;
      if (!direct && (padded != cache.dim || cache.slot_stride != cache.row_bytes())) {
        widen(to, row, cache.dim);
      }
    }
  };
  for_each_page(call_.spans, part_of(span, begin, end), cache.page_size, visit);
}

void RowBlock::finish(const Partial& state) {
  const bool no_spans = call_.span_starts[sequence_] == call_.span_starts[sequence_ + 1];
  std::vector<float> scaled(v_dim_);
  for (int64_t row = 0; row < count_; ++row) {
    const int64_t head = head_of(row), query = query_of(row);
    const float sink = call_.sinks && !no_spans ? call_.sinks[head] : kNothing;
    const float top = std::max(state.max[row], sink), mine = weight(state.max[row], top);
    const float total = state.sum[row] * mine + weight(sink, top);
    const bool nothing = total == 0.0f;  // not so where a score was NaN
    call_.lse[(sequence_ * call_.query.heads + head) * queries_ + query] =
        nothing ? kNothing : top + std::log(total);
    const float share = nothing ? 0.0f : mine / total;
    for (int64_t d = 0; d < v_dim_; ++d) scaled[d] = state.out[row * v_padded_ + d] * share;
    const int64_t at = ((sequence_ * queries_ + query) * call_.query.heads + head) * v_dim_;
    lanes_.narrow[static_cast<int>(call_.dtype)](call_.out + at * call_.query.item, scaled.data(),
                                                 v_dim_);
  }
}

}  // namespace agentprim
