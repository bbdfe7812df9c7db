// walk over the tokens of a sequence, a tile of rows at a time
#pragma once

#include "attend.h"

namespace agentprim {

// up to kTileKeys tokens of one span; lists are filled up to whole vectors with the last row
struct TileRows {
  int64_t span, head;
  int num_keys = 0;
  const char* keys[kTileKeys];
  const char* values[kTileKeys];
  int32_t at[kTileKeys];  // current positions
};

class TileReader {
 public:
  // tokens `begin` to `end` of the sequence's spans, counted one after the other; tiles without
  // any position in newest >= position > oldest are passed over
  TileReader(const Attend& call, int64_t sequence, int64_t first_head, int64_t num_heads,
             int64_t begin, int64_t end, int32_t newest, int32_t oldest);
  // fill in the next tile, false at the end: each head of some tokens before any of the next, as
  // they lie in memory
  bool next(TileRows& tile);

 private:
  bool visible(const Span& span, int64_t begin, int64_t end) const;
  void fill(const Span& span, int64_t begin, TileRows& tile) const;
  bool next_tokens();
  int32_t position(const Span& span, int64_t token) const;

  const Attend& call_;
  const int64_t first_head_, num_heads_, end_;
  const int32_t newest_, oldest_;
  int64_t span_, last_span_;
  int64_t start_ = 0;            // of the span, among all tokens
  int64_t token_, count_ = 0;    // of the tile
  int64_t head_;                 // next one
};

}  // namespace agentprim
