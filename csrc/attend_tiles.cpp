#include "attend_tiles.h"

#include <algorithm>

namespace agentprim {

namespace {

constexpr int kWidest = 16;  // floats of the longest vector

}  // namespace

TileReader::TileReader(const Attend& call, int64_t sequence, int64_t first_head,
                       int64_t num_heads, int64_t begin, int64_t end, int32_t newest,
                       int32_t oldest)
    : call_(call), first_head_(first_head), num_heads_(num_heads), end_(end), newest_(newest),
      oldest_(oldest), span_(call.span_starts[sequence]),
      last_span_(call.span_starts[sequence + 1]), token_(begin), head_(num_heads) {}

bool TileReader::next(TileRows& tile) {
  if (head_ == num_heads_) {
    if (!next_tokens()) return false;
    head_ = 0;
  }
  tile.span = span_;
  tile.head = head_++;
  tile.num_keys = static_cast<int>(count_);
  fill(call_.spans.rows[span_], token_ - start_, tile);
  return true;
}

bool TileReader::next_tokens() {
  token_ += count_;
  while (span_ < last_span_ && token_ < end_) {
    const Span& span = call_.spans.rows[span_];
    const int64_t begin = token_ - start_, left = std::min<int64_t>(span.length, end_ - start_);
    if (begin >= left) {
      start_ += span.length;
      ++span_;
      continue;
    }
    count_ = std::min<int64_t>(kTileKeys, left - begin);
    if (visible(span, begin, begin + count_)) return true;
    token_ += count_;
  }
  return false;
}

int32_t TileReader::position(const Span& span, int64_t token) const {
  return span.positions_start < 0 ? span.position + static_cast<int32_t>(token)
                                  : call_.key_positions[span.positions_start + token];
}

// positions ascend
bool TileReader::visible(const Span& span, int64_t begin, int64_t end) const {
  return position(span, begin) <= newest_ && position(span, end - 1) > oldest_;
}

void TileReader::fill(const Span& span, int64_t begin, TileRows& tile) const {
  const View &k_cache = call_.k_cache, &v_cache = call_.v_cache;
  const Span part{span.page_start, static_cast<int32_t>(span.first_slot + begin), tile.num_keys,
                  0, -1};
  const auto visit = [&](int64_t page, int64_t offset, int64_t count, int64_t first) {
    const char* key = k_cache.at(0, page, first_head_ + tile.head, offset);
    const char* value = v_cache.at(0, page, first_head_ + tile.head, offset);
    for (int64_t n = 0; n < count; ++n) {
      tile.keys[first + n] = key + n * k_cache.slot_stride;
      tile.values[first + n] = value + n * v_cache.slot_stride;
    }
  };
  for_each_page(call_.spans, part, k_cache.page_size, visit);
  if (span.positions_start < 0) {
    const int32_t at = position(span, begin);
    for (int n = 0; n < tile.num_keys; ++n) tile.at[n] = at + n;
  } else {
    std::copy_n(call_.key_positions + span.positions_start + begin, tile.num_keys, tile.at);
  }
  for (int n = tile.num_keys; n % kWidest; ++n) {
    tile.keys[n] = tile.keys[n - 1];
    tile.values[n] = tile.values[n - 1];
    tile.at[n] = tile.at[n - 1];
  }
}

}  // namespace agentprim
