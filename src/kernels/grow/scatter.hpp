// Sends the rows of a node to its children.
#pragma once
#include <cstddef>
#include <cstdint>

#include "bins/layout.hpp"
#include "core/fixed.hpp"
#include "grow/histogram.hpp"

namespace sapwood {
// The side of each row.
//   column      codes of the split's column: row r at column[r * step]   IN
//   rows        (n + ahead,) uint32, or null for first, first + 1, ...   IN
//   goes_left   (256,) uint8: 1 for the codes that go left               IN
//   left        (n,) uint8                                               OUT
// Returns the number of rows that go left.
inline int64_t decide_rows(const uint8_t* column, size_t step, const uint8_t* goes_left, const uint32_t* rows, uint32_t first, int64_t n,
                           int64_t ahead, uint8_t* left) {
  constexpr int64_t kFar = 64;  // rows: each takes about a nanosecond here
  int64_t n_left = 0;
  if (!rows) {
    for (int64_t i = 0; i < n; ++i) n_left += left[i] = goes_left[column[size_t(first + uint32_t(i)) * step]];
    return n_left;
  }
  const int64_t fetched = n + ahead - kFar;
  for (int64_t i = 0; i < n; ++i) {
    if (i < fetched) prefetch(column + size_t(rows[i + kFar]) * step);
    n_left += left[i] = goes_left[column[size_t(rows[i]) * step]];
  }
  return n_left;
}

// The same for a feature in row lists.
inline int64_t decide_listed(const Page& page, const FeatureStorage& storage, const Sides& sides, const uint32_t* rows, uint32_t first,
                             int64_t n, uint8_t* left) {
  int64_t n_left = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = rows ? rows[i] : first + uint32_t(i);
    if (rows && i + 2 * kAhead < n) prefetch(page.list_begin + rows[i + 2 * kAhead]);
    if (rows && i + kAhead < n) prefetch(page.list_bins + page.list_begin[rows[i + kAhead]]);
    n_left += left[i] = side_listed(storage, sides, page.list_bins + page.list_begin[row], page.list_bins + page.list_begin[row + 1]);
  }
  return n_left;
}

// The same from a bit for each row that is not on the side of the default bin.
inline int64_t decide_marked(const uint64_t* marks, uint8_t default_side, const uint32_t* rows, uint32_t first, int64_t n, uint8_t* left) {
  int64_t n_left = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = rows ? rows[i] : first + uint32_t(i);
    n_left += left[i] = default_side ^ uint8_t(marks[row >> 6] >> (row & 63) & 1);
  }
  return n_left;
}

// Writes each row and its gradients to its side, in order.
//   left   (n,) uint8                                              IN
//   at     where the left side's rows begin, and the right side's  IN
template <class Gradient>  // an integer of the size of a row's gradients
void scatter_rows_of(const uint8_t* left, const uint32_t* rows, uint32_t first, const void* gradients_, int64_t n, int64_t left_at,
                     int64_t right_at, uint32_t* out_rows, void* out_gradients_) {
  auto* gradients = static_cast<const Gradient*>(gradients_);
  auto* out_gradients = static_cast<Gradient*>(out_gradients_);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t to = left[i] ? left_at : right_at;
    out_rows[to] = rows ? rows[i] : first + uint32_t(i);
    out_gradients[to] = gradients[i];
    left_at += left[i];
    right_at += 1 - left[i];
  }
}

inline void scatter_rows(int size, const uint8_t* left, const uint32_t* rows, uint32_t first, const void* gradients, int64_t n,
                         int64_t left_at, int64_t right_at, uint32_t* out_rows, void* out_gradients) {
  if (size == sizeof(Pair)) {
    scatter_rows_of<uint64_t>(left, rows, first, gradients, n, left_at, right_at, out_rows, out_gradients);
  } else {
    scatter_rows_of<uint32_t>(left, rows, first, gradients, n, left_at, right_at, out_rows, out_gradients);
  }
}

// Exact sums of the gradients and hessians of a leaf's rows.
inline Sums sum_gradients(const void* gradients, int64_t n, GradientFormat format) {
  Sums sums;
  sums.count = n;
  if (format == GradientFormat::kSingle) {
    auto* r = static_cast<const Single*>(gradients);
    for (int64_t i = 0; i < n; ++i) sums.g += r[i].g;
    sums.h = n;
  } else if (format == GradientFormat::kWide) {
    auto* r = static_cast<const Pair*>(gradients);
    for (int64_t i = 0; i < n; ++i) {
      sums.g += r[i].g;
      sums.h += r[i].h;
    }
  } else {
    auto* r = static_cast<const Pair*>(gradients);
    for (int64_t i = 0; i < n; ++i) {
      sums.g += whole_gradient(r[i]);
      sums.h += whole_hessian(r[i]);
    }
  }
  return sums;
}

}  // namespace sapwood
