// Sums for the slopes of linear leaves: means of inputs in each leaf, then the normal equations of least squares around the means.
//
// An input's values are integers (levels), so all sums are exact: they need not be taken in any order. A sum of products has up to 113
// bits; it is kept in 128 and given away in three words that may be added up.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "bins/code_table.hpp"
#include "core/fixed.hpp"

namespace sapwood {

inline constexpr int32_t kMissingLevel = std::numeric_limits<int32_t>::min();
inline constexpr int32_t kMaxLevel = 1 << 20;
inline constexpr int kMaxSlots = 8;   // inputs of a leaf
inline constexpr int kMeanWords = 5;  // rows, hessian, hessian * level (three words)
inline constexpr int kWideWords = 3;  // of a sum of 128 bits

__extension__ typedef __int128 int128;

// Adds a sum to its words: the lowest 32 bits, the next 32 bits, the rest.
inline void add_words(int128 sum, int64_t* words) {
  words[0] += int64_t(uint32_t(sum));
  words[1] += int64_t(uint32_t(sum >> 32));
  words[2] += int64_t(sum >> 64);
}

inline int64_t hessian_of(Pair r) { return r.h; }
inline int64_t hessian_of(Single) { return 1; }

// Binned rows, and which inputs each leaf has.
struct SlopeRows {
  const Page& page;
  int width, stride;
  const std::vector<CodeTable<int32_t>>& levels;  // of each input
  const int32_t* slots;                           // (n_leaves, n_slots): inputs, or -1
  int n_slots;
};

// Sums of one input in one leaf.
struct MeanSum {
  int64_t count = 0, hessian = 0;
  int128 level = 0;
  int32_t lowest = std::numeric_limits<int32_t>::max(), highest = std::numeric_limits<int32_t>::min();
};

// Adds a row to the means of its leaf's inputs.
//   sums  (n_leaves, n_slots)   IN/OUT
template <class Record>
inline void add_to_means(const SlopeRows& rows, int64_t row, int64_t leaf, Record record, MeanSum* sums) {
  const int64_t hessian = hessian_of(record);
  if (hessian == 0) return;
  for (int s = 0; s < rows.n_slots; ++s) {
    const int32_t input = rows.slots[leaf * rows.n_slots + s];
    if (input < 0) break;
    const int32_t level = rows.levels[input].read(rows.page, rows.width, rows.stride, row);
    if (level == kMissingLevel) continue;
    MeanSum& sum = sums[leaf * rows.n_slots + s];
    ++sum.count;
    sum.hessian += hessian;
    sum.level += hessian * level;
    sum.lowest = std::min(sum.lowest, level);
    sum.highest = std::max(sum.highest, level);
  }
}

inline constexpr int n_products(int n_slots) { return n_slots * (n_slots + 1) / 2 + n_slots; }

// Adds a row to the normal equations of its leaf: hessian * x_s * x_t for t <= s, then gradient * x_s; x is the level less its center, 0 if
// it is missing.
//   centers  (n_leaves, n_slots)               IN
//   sums     (n_leaves, n_products(n_slots))   IN/OUT
template <class Record>
inline void add_to_products(const SlopeRows& rows, int64_t row, int64_t leaf, Record record, const int32_t* centers, int128* sums) {
  const int64_t gradient = record.g, hessian = hessian_of(record);
  if (hessian == 0) return;
  int64_t x[kMaxSlots];
  int n = 0;
  for (; n < rows.n_slots; ++n) {
    const int32_t input = rows.slots[leaf * rows.n_slots + n];
    if (input < 0) break;
    const int32_t level = rows.levels[input].read(rows.page, rows.width, rows.stride, row);
    x[n] = level == kMissingLevel ? 0 : int64_t(level) - centers[leaf * rows.n_slots + n];
  }
  int128* to = sums + leaf * n_products(rows.n_slots);
  int128* of_gradient = to + rows.n_slots * (rows.n_slots + 1) / 2;
  for (int s = 0; s < n; ++s) {
    const int64_t weighted = hessian * x[s];
    for (int t = 0; t <= s; ++t) *to++ += int128(weighted) * x[t];
    of_gradient[s] += gradient * x[s];
  }
}

// Solves (a + ridge) x = -b by Cholesky's method, in a fixed order of operations; x is 0 where it is not determined.
//   a      (n, n) symmetric   IN
//   ridge  (n,)               IN
//   x      (n,)               OUT
inline void solve_ridge(const double* a, const double* b, const double* ridge, int n, double* x) {
  constexpr double kSmall = 1e-9;  // of a pivot, as a fraction of its diagonal
  double low[kMaxSlots][kMaxSlots], pivot[kMaxSlots];
  for (int j = 0; j < n; ++j) {
    const double diagonal = a[j * n + j] + ridge[j];
    pivot[j] = diagonal;
    for (int k = 0; k < j; ++k) pivot[j] -= low[j][k] * low[j][k] * pivot[k];
    if (!(pivot[j] > kSmall * diagonal)) pivot[j] = 0;
    for (int i = j + 1; i < n; ++i) {
      double rest = a[i * n + j];
      for (int k = 0; k < j; ++k) rest -= low[i][k] * low[j][k] * pivot[k];
      low[i][j] = pivot[j] > 0 ? rest / pivot[j] : 0;
    }
  }
  for (int j = 0; j < n; ++j) {
    x[j] = -b[j];
    for (int k = 0; k < j; ++k) x[j] -= low[j][k] * x[k];
  }
  for (int j = n - 1; j >= 0; --j) {
    x[j] = pivot[j] > 0 ? x[j] / pivot[j] : 0;
    for (int k = j + 1; k < n && pivot[j] > 0; ++k) x[j] -= low[k][j] * x[k];
  }
}

}  // namespace sapwood
