// Sums of targets by key, for target statistics of categories.
#pragma once
#include <cstdint>

namespace sapwood {

// For each row the sums over the rows that come before it in an order and have its key; and the sums of all rows of each key.
//   order    (n,) uint32: rows, each once                              IN
//   keys     (n,) uint32, by row                                       IN
//   targets  (n,) int64, by row                                        IN
//   weights  (n,) int64, by row; null: one each                        IN
//   before   (n, 2) int64: targets and weights, by row; null: not wanted   OUT
//   totals   (n_keys, 2) int64, zero                                   IN/OUT
inline void sum_before(const uint32_t* order, const uint32_t* keys, const int64_t* targets, const int64_t* weights, int64_t n,
                       int64_t* before, int64_t* totals) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = order[i];
    int64_t* sums = totals + 2 * int64_t(keys[row]);
    if (before) before[2 * int64_t(row)] = sums[0], before[2 * int64_t(row) + 1] = sums[1];
    sums[0] += targets[row];
    sums[1] += weights ? weights[row] : 1;
  }
}

}  // namespace sapwood
