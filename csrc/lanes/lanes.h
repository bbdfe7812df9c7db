// the hot loops, compiled once for each kind of processor and chosen at run time
#pragma once

#include <cstdint>

namespace agentprim {

constexpr int kTileKeys = 64;  // keys that attention handles at a time
constexpr int kTileRows = 48;  // query rows, a multiple of three vectors of 4, 8 or 16 lanes

// one tile of keys and values in fp32
struct Tile {
  const float* const* keys;    // [num_keys] rows of k_dim
  const float* const* values;  // [num_keys] rows of v_dim, padded to whole vectors
  const int32_t* at;           // [num_keys] current positions
  int num_keys;
  bool masked;  // some row does not see some key
};

// running state of a softmax over tiles, for `rows` query rows, padded to whole vectors
struct Rows {
  int rows, padded, k_dim, v_dim;  // v_dim padded to whole vectors
  const float* queries;            // [k_dim][padded], scaled
  const float* query_rows;         // [rows][k_dim], the same
  const int32_t* newest;           // [padded] a row sees keys at newest >= at > oldest
  const int32_t* oldest;
  float softcap;  // 0 is off
  float* scores;  // [kTileKeys][padded], scratch
  float* shrink;  // [padded], scratch
  float* max;     // [padded]
  float* sum;     // [padded]
  float* out;     // [padded][v_dim], not yet divided by sum
};

struct Lanes {
  const char* name;
  int width;  // floats of a vector

  // turn `count` rows of `2 * half` dims; strides in bytes; in place where out == in. One
  // function for each Dtype.
  void (*turn[3])(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t count,
                  const float* cos, const float* sin, int64_t half, bool interleaved);
  void (*widen[3])(float* out, const char* in, int64_t count);
  void (*narrow[3])(char* out, const float* in, int64_t count);
  void (*attend)(const Tile& tile, const Rows& rows);
};

// the best that this processor runs, or one by name: "base", "v3", "v4"; throws if it cannot run
const Lanes& lanes(const char* name = "");

}  // namespace agentprim
