// one tile of attention: scores, running softmax, weighted values
#pragma once

#include "lanes/lanes.h"
#include "lanes/vector.h"

namespace agentprim {

namespace {

// lanes are query rows: a key's element is broadcast, so keys need no transposing
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

template <int kKeys>
inline void score_keys(const float* const* keys, const Rows& rows, float* scores) {
  int row = 0;
  for (; row + 3 * kLanes <= rows.padded; row += 3 * kLanes) {
    score_block<kKeys, 3>(keys, rows, row, scores);
  }
  for (; row < rows.padded; row += kLanes) score_block<kKeys, 1>(keys, rows, row, scores);
}

// few rows would leave lanes idle: lanes are dims instead
template <int kRows>
inline void score_few(const Tile& tile, const Rows& rows) {
  const int whole = rows.k_dim / kLanes * kLanes;
  for (int n = 0; n < tile.num_keys; ++n) {
    const float* key = tile.keys[n];
    Vf sum[kRows] = {};
    for (int d = 0; d < whole; d += kLanes) {
      const Vf k = load(key + d);
      for (int r = 0; r < kRows; ++r) sum[r] += k * load(rows.query_rows + r * rows.k_dim + d);
    }
    float* scores = rows.scores + n * rows.padded;
    save(scores, Vf{});
    for (int r = 0; r < kRows; ++r) {
      scores[r] = total(sum[r]);
      const float* query = rows.query_rows + r * rows.k_dim;
      for (int d = whole; d < rows.k_dim; ++d) scores[r] += key[d] * query[d];
    }
  }
}

inline void score(const Tile& tile, const Rows& rows) {
  if (rows.rows == 1) return score_few<1>(tile, rows);
  if (rows.rows == 2) return score_few<2>(tile, rows);
  if (rows.rows == 3) return score_few<3>(tile, rows);
  if (rows.rows == 4) return score_few<4>(tile, rows);
  int n = 0;
  for (; n + 4 <= tile.num_keys; n += 4) {
    score_keys<4>(tile.keys + n, rows, rows.scores + n * rows.padded);
  }
  for (; n < tile.num_keys; ++n) {
    score_keys<1>(tile.keys + n, rows, rows.scores + n * rows.padded);
  }
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

template <int kVectors>
inline void weigh_block(const Tile& tile, const Rows& rows, int row, int dim) {
  constexpr int kRows = 4;
  Vf sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const float* out = rows.out + (row + r) * rows.v_dim + dim + v * kLanes;
      sum[r][v] = load(out) * rows.shrink[row + r];
    }
  }
  const float* weights = rows.scores + row;
  for (int n = 0; n < tile.num_keys; ++n, weights += rows.padded) {
    const float* value = tile.values[n] + dim;
    for (int v = 0; v < kVectors; ++v) {
      const Vf x = load(value + v * kLanes);
      for (int r = 0; r < kRows; ++r) sum[r][v] += weights[r] * x;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      save(rows.out + (row + r) * rows.v_dim + dim + v * kLanes, sum[r][v]);
    }
  }
}

void attend_tile(const Tile& tile, const Rows& rows) {
  constexpr int kVectors = kLanes == 16 ? 4 : 2;  // what the registers hold, with four rows
  score(tile, rows);
  soften(tile, rows);
  for (int row = 0; row < rows.rows; row += 4) {
    int dim = 0;
    for (; dim + kVectors * kLanes <= rows.v_dim; dim += kVectors * kLanes) {
      weigh_block<kVectors>(tile, rows, row, dim);
    }
    for (; dim < rows.v_dim; dim += kLanes) weigh_block<1>(tile, rows, row, dim);
  }
}

}  // namespace

}  // namespace agentprim
