// the hot loops, compiled once for each kind of processor and chosen at run time
#pragma once

#include <cstdint>

namespace agentprim {

constexpr int kTileKeys = 64;  // keys that attention handles at a time
constexpr int kTileRows = 48;  // query rows, a multiple of three vectors of 4, 8 or 16 lanes
constexpr int kFewRows = 12;   // up to so many rows, lanes are dims instead of rows

// one tile of keys and values. Lists are filled up to a multiple of 16 with
// the last row.
struct Tile {
  const char* const* keys;    // [num_keys] rows of k_dim
  const char* const* values;  // [num_keys] rows of v_dim
  const char* const* ahead;   // [kTileKeys] keys of the tile that will follow
  const int32_t* at;          // [num_keys] current positions
  int num_keys;
  bool masked;  // some row does not see some key
};

// running state of a softmax over tiles, for `rows` query rows
struct Rows {
  int rows, padded, k_dim, v_dim;
  int k_padded, v_padded;  // to whole vectors, as is `padded`
  const float* queries;    // scaled: [rows][k_padded] for few rows, [k_dim][padded] for many
  const int32_t* newest;   // [padded] a row sees keys at newest >= at > oldest
  const int32_t* oldest;
  float softcap;  // 0 is off
  float* scores;  // scratch: [rows][kTileKeys] for few rows, [kTileKeys][padded] for many
  float* shrink;  // [padded], scratch
  float* max;     // [padded]
  float* sum;     // [padded]
  float* out;     // [padded][v_padded], not yet divided by sum
};

// rows on their way, perhaps turned; strides in bytes
struct Turn {
  char* out;  // may be `in`, with the same stride
  int64_t out_stride;
  const char* in;
  int64_t in_stride;
  int64_t count;
  const char* ahead;  // rows that will be read next, `in_stride` apart; `in` where none are known
};

// at most `most` of the rows from `first` on
static inline Turn some_rows(const Turn& rows, int64_t first, int64_t most) {
  const int64_t left = rows.count - first, skipped = first * rows.in_stride;
  return {rows.out + first * rows.out_stride, rows.out_stride, rows.in + skipped, rows.in_stride,
          left < most ? left : most, rows.ahead + skipped};
}

// rows that follow each other without gaps
static inline bool at_once(const Turn& rows, int64_t row_bytes) {
  return rows.out_stride == row_bytes && rows.in_stride == row_bytes;
}

// keys that are turned, and as many values as they are
struct Turned {
  Turn keys, values;
  int64_t key_bytes, value_bytes;  // of a row
  char* aside;                     // scratch: [aside_rows][key_bytes]
  int64_t aside_rows;
};

// members with three functions have one for each Dtype
struct Lanes {
  const char* name;
  int width;  // floats of a vector

  void (*turn[3])(const Turn& rows, const float* cos, const float* sin, int64_t half,
                  bool interleaved);
  // past the caches: other threads see the rows only after `end_streams`
  void (*stream)(const Turn& rows, int64_t row_bytes);
  void (*stream_turned[3])(const Turned& all, const float* cos, const float* sin, int64_t half,
                           bool interleaved);
  void (*widen[3])(float* out, const char* in, int64_t count);
  void (*narrow[3])(char* out, const float* in, int64_t count);
  // up to kFewRows rows, keys and values as they are stored
  void (*attend_few[3])(const Tile& tile, const Rows& rows);
  // up to kTileRows rows; keys and values in fp32, values padded to whole vectors
  void (*attend_many)(const Tile& tile, const Rows& rows);
};

// the best that this processor runs, or one by name: "base", "v3", "v4"; throws if it cannot run
const Lanes& lanes(const char* name = "");

}  // namespace agentprim
