// one tile of attention for many query rows: a key's element is broadcast to lanes that are rows,
// so that keys need no transposing
#pragma once

#include "lanes/lanes.h"
#include "lanes/vector.h"

namespace agentprim {

namespace {

template <int kKeys, int kVectors>
inline void score_block(const float* const* keys, const Rows& rows, int row, float* scores) {
  Vf sum[kKeys][kVectors] = {};
  const float* query = rows.queries + row;
  for (int d = 0; d < rows.k_dim; ++d, query += rows.padded) {
    for (int v = 0; v < kVectors; ++v) {
      const Vf q = load(query + v * kLanes);
      for (int n = 0; n < kKeys; ++n) sum[n][v] += keys[n][d] * q;
    }
  }
  for (int n = 0; n < kKeys; ++n) {
    for (int v = 0; v < kVectors; ++v) save(scores + n * rows.padded + row + v * kLanes, sum[n][v]);
  }
}

template <int kKeys, int kVectors>
inline void score_keys(const Tile& tile, const Rows& rows, int row) {
  // the lists are filled up to whole vectors, the scratch too
  const auto keys = reinterpret_cast<const float* const*>(tile.keys);
  for (int n = 0; n < tile.num_keys; n += kKeys) {
    score_block<kKeys, kVectors>(keys + n, rows, row, rows.scores + n * rows.padded);
  }
}

inline void score(const Tile& tile, const Rows& rows) {
  int row = 0;
  for (; row + 3 * kLanes <= rows.padded; row += 3 * kLanes) score_keys<4, 3>(tile, rows, row);
  if (rows.padded - row == 2 * kLanes) score_keys<4, 2>(tile, rows, row);
  if (rows.padded - row == kLanes) score_keys<8, 1>(tile, rows, row);
}

// turn scores into weights; scale what was gathered before to the new maximum
inline void soften(const Tile& tile, const Rows& rows) {
  const Vf hidden = fill(-__builtin_inff());
  for (int row = 0; row < rows.padded; row += kLanes) {
    const Vf before = load(rows.max + row);
    const Vi newest = load(rows.newest + row), oldest = load(rows.oldest + row);
    Vf max = before, sum = {};
    for (int n = 0; n < tile.num_keys; ++n) {
      float* at = rows.scores + n * rows.padded + row;
      Vf s = load(at);
      if (rows.softcap > 0.0f) s = rows.softcap * tanh(s / rows.softcap);
      if (tile.masked) s = (newest >= tile.at[n]) & (oldest < tile.at[n]) ? s : hidden;
      save(at, s);
      max = s > max ? s : max;
    }
    const Vf base = max == hidden ? Vf{} : max;
    for (int n = 0; n < tile.num_keys; ++n) {
      float* at = rows.scores + n * rows.padded + row;
      const Vf weight = exp_down(load(at) - base);
      save(at, weight);
      sum += weight;
    }
    const Vf shrink = exp_down(before - base);
    save(rows.shrink + row, shrink);
    save(rows.max + row, max);
    save(rows.sum + row, load(rows.sum + row) * shrink + sum);
  }
}

template <int kRows, int kVectors>
inline void weigh_block(const Tile& tile, const Rows& rows, int row, int dim) {
  Vf sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const float* out = rows.out + (row + r) * rows.v_padded + dim + v * kLanes;
      sum[r][v] = load(out) * rows.shrink[row + r];
    }
  }
  const auto values = reinterpret_cast<const float* const*>(tile.values);
  const float* weights = rows.scores + row;
  for (int n = 0; n < tile.num_keys; ++n, weights += rows.padded) {
    const float* value = values[n] + dim;
    for (int v = 0; v < kVectors; ++v) {
      const Vf x = load(value + v * kLanes);
      for (int r = 0; r < kRows; ++r) sum[r][v] += weights[r] * x;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      save(rows.out + (row + r) * rows.v_padded + dim + v * kLanes, sum[r][v]);
    }
  }
}

// a part of the values stays in the nearest cache while all rows pass over it
template <int kVectors>
inline void weigh(const Tile& tile, const Rows& rows, int dim) {
  int row = 0;  // a multiple of four remains, and mostly of six, which the registers just hold
  for (; (rows.padded - row) % 6; row += 4) weigh_block<4, kVectors>(tile, rows, row, dim);
  for (; row < rows.padded; row += 6) weigh_block<6, kVectors>(tile, rows, row, dim);
}

void attend_many(const Tile& tile, const Rows& rows) {
  constexpr int kVectors = kLanes == 16 ? 4 : 2;
  score(tile, rows);
  soften(tile, rows);
  int dim = 0;
  for (; dim + kVectors * kLanes <= rows.v_padded; dim += kVectors * kLanes) {
    weigh<kVectors>(tile, rows, dim);
  }
  for (; dim < rows.v_padded; dim += kLanes) weigh<1>(tile, rows, dim);
}

}  // namespace

}  // namespace agentprim
