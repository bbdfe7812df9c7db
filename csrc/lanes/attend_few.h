// one tile of attention for few query rows, as in decoding: each key and value is read once, as it
// is stored, and widened in a register for all rows of its group
#pragma once

#include "lanes/lanes.h"
#include "lanes/storage.h"

namespace agentprim {

namespace {

// Pages lie scattered, and no processor foresees the next one: rows that are wanted soon are asked
// for while others are worked on, a few lines at a time, since only so many can be on their way.
inline void prefetch(const char* from, int bytes) {
  for (int byte = 0; byte < bytes; byte += 64) __builtin_prefetch(from + byte);
}

// lane sums of the products of kRows queries with kKeys keys, dims across lanes
template <typename T, int kRows, int kKeys>
inline void dot(const char* const* keys, const char* const* values, const Rows& rows,
                const float* query, Vf* sums) {
  Vf sum[kRows][kKeys] = {};
  const auto add = [&](int d, const auto& load_key) {
    Vf key[kKeys];
    for (int n = 0; n < kKeys; ++n) key[n] = load_key(reinterpret_cast<const T*>(keys[n]) + d);
    for (int r = 0; r < kRows; ++r) {
      const Vf q = load(query + r * rows.k_padded + d);
      for (int n = 0; n < kKeys; ++n) sum[r][n] += key[n] * q;
    }
    if (d * sizeof(T) % 64 == 0) {
      for (int n = 0; n < kKeys; ++n) prefetch(values[n] + d * sizeof(T), 64);
    }
  };
  int d = 0;
  for (; d + kLanes <= rows.k_dim; d += kLanes) add(d, [](const T* key) { return load(key); });
  const int rest = rows.k_dim - d;
  if (rest) add(d, [rest](const T* key) { return load_part(key, rest); });
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < kKeys; ++n) sums[r * kLanes + n] = sum[r][n];
  }
}

template <typename T, int kRows>
inline void score_few(const Tile& tile, const Rows& rows, int row) {
  constexpr int kKeys = kLanes == 16 ? 4 : 2;  // what the registers hold, with four rows
  const float* query = rows.queries + row * rows.k_padded;
  float* scores = rows.scores + row * kTileKeys;
  for (int first = 0; first < tile.num_keys; first += kLanes) {
    Vf sums[kRows][kLanes];
    for (int n = first; n < first + kLanes; n += kKeys) {
      dot<T, kRows, kKeys>(tile.keys + n, tile.values + n, rows, query, sums[0] + n - first);
    }
    for (int r = 0; r < kRows; ++r) save(scores + r * kTileKeys + first, totals(sums[r]));
  }
}

// turn scores into weights, keys across lanes
inline void soften_few(const Tile& tile, const Rows& rows, int row) {
  const Vf hidden = fill(-__builtin_inff());
  const Vi lane = own_lane(kAllLanes);
  const Vi newest = rows.newest[row] - Vi{}, oldest = rows.oldest[row] - Vi{};
  float* scores = rows.scores + row * kTileKeys;
  Vf top = hidden;
  for (int n = 0; n < tile.num_keys; n += kLanes) {
    Vf s = load(scores + n);
    if (rows.softcap > 0.0f) s = rows.softcap * tanh(s / rows.softcap);
    const Vi at = load(tile.at + n);
    if (tile.masked) s = (newest >= at) & (oldest < at) ? s : hidden;
    s = lane < tile.num_keys - n ? s : hidden;
    save(scores + n, s);
    top = s > top ? s : top;
  }
  const float before = rows.max[row], here = largest(top), max = here > before ? here : before;
  const Vf base = fill(max == hidden[0] ? 0.0f : max);
  Vf sum = {};
  for (int n = 0; n < tile.num_keys; n += kLanes) {
    const Vf weight = exp_down(load(scores + n) - base);
    save(scores + n, weight);
    sum += weight;
  }
  rows.shrink[row] = exp_down(fill(before) - base)[0];
  rows.max[row] = max;
  rows.sum[row] = rows.sum[row] * rows.shrink[row] + total(sum);
}

// add weighted values to kRows rows of `out`, dims `dim` and on across kVectors vectors
template <typename T, int kRows, int kVectors>
inline void weigh_few(const Tile& tile, const Rows& rows, int row, int dim) {
  Vf sum[kRows][kVectors];
  float* out = rows.out + row * rows.v_padded + dim;
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = load(out + r * rows.v_padded + v * kLanes) * rows.shrink[row + r];
    }
  }
  const float* weights = rows.scores + row * kTileKeys;
  const int rest = rows.v_dim - dim;
  for (int n = 0; n < tile.num_keys; ++n) {
    const T* value = reinterpret_cast<const T*>(tile.values[n]) + dim;
    Vf x[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      x[v] = kVectors == 1 && rest < kLanes ? load_part(value, rest) : load(value + v * kLanes);
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] += weights[r * kTileKeys + n] * x[v];
    }
    prefetch(tile.ahead[n] + dim * sizeof(T), kVectors * kLanes * sizeof(T));
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) save(out + r * rows.v_padded + v * kLanes, sum[r][v]);
  }
}

template <typename T, int kRows>
inline void attend_rows(const Tile& tile, const Rows& rows, int row) {
  constexpr int kVectors = kLanes == 16 ? 4 : 2;
  score_few<T, kRows>(tile, rows, row);
  for (int r = 0; r < kRows; ++r) soften_few(tile, rows, row + r);
  int dim = 0;
  for (; dim + kVectors * kLanes <= rows.v_dim; dim += kVectors * kLanes) {
    weigh_few<T, kRows, kVectors>(tile, rows, row, dim);
  }
  for (; dim < rows.v_dim; dim += kLanes) weigh_few<T, kRows, 1>(tile, rows, row, dim);
}

template <typename T>
void attend_few(const Tile& tile, const Rows& rows) {
  int row = 0;
  for (; row + 4 <= rows.rows; row += 4) attend_rows<T, 4>(tile, rows, row);
  if (rows.rows - row == 3) attend_rows<T, 3>(tile, rows, row);
  if (rows.rows - row == 2) attend_rows<T, 2>(tile, rows, row);
  if (rows.rows - row == 1) attend_rows<T, 1>(tile, rows, row);
}

}  // namespace

}  // namespace agentprim
