// Sends the rows of a node to its children.
#pragma once
#include <cstddef>
#include <cstdint>

#include "bins/layout.hpp"
#include "core/fixed.hpp"
#include "grow/histogram.hpp"

namespace sapwood {
// Asks of each row whether it goes left.
//   column      bins of the split's feature: row r at column[r * step]   IN
//   rows        (n + ahead,) uint32, or null for first, first + 1, ...   IN
//   goes_left   (256,) uint8: 1 for the bins that go left                IN
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

// The same for a feature whose bins lie beside the rows.
inline int64_t decide_beside(const Page& page, const Place& place, const Sides& sides, const uint32_t* rows, uint32_t first, int64_t n,
                             uint8_t* left) {
  int64_t n_left = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = rows ? rows[i] : first + uint32_t(i);
    if (rows && i + 2 * kAhead < n) prefetch(page.begin + rows[i + 2 * kAhead]);
    if (rows && i + kAhead < n) prefetch(page.beside + page.begin[rows[i + kAhead]]);
    n_left += left[i] = side_beside(place, sides, page.beside + page.begin[row], page.beside + page.begin[row + 1]);
  }
  return n_left;
}

// The same where a bit for each row says that it does not go the common way.
inline int64_t decide_marked(const uint64_t* marks, uint8_t common, const uint32_t* rows, uint32_t first, int64_t n, uint8_t* left) {
  int64_t n_left = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = rows ? rows[i] : first + uint32_t(i);
    n_left += left[i] = common ^ uint8_t(marks[row >> 6] >> (row & 63) & 1);
  }
  return n_left;
}

// Writes each row and its record to its side, in order.
//   left   (n,) uint8                                              IN
//   at     where the left side's rows begin, and the right side's  IN
template <class Record>  // an integer of a record's size
void scatter_rows_of(const uint8_t* left, const uint32_t* rows, uint32_t first, const void* records_, int64_t n, int64_t left_at,
                     int64_t right_at, uint32_t* out_rows, void* out_records_) {
  auto* records = static_cast<const Record*>(records_);
  auto* out_records = static_cast<Record*>(out_records_);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t to = left[i] ? left_at : right_at;
    out_rows[to] = rows ? rows[i] : first + uint32_t(i);
    out_records[to] = records[i];
    left_at += left[i];
    right_at += 1 - left[i];
  }
}

inline void scatter_rows(int record_size, const uint8_t* left, const uint32_t* rows, uint32_t first, const void* records, int64_t n,
                         int64_t left_at, int64_t right_at, uint32_t* out_rows, void* out_records) {
  if (record_size == sizeof(Pair)) {
    scatter_rows_of<uint64_t>(left, rows, first, records, n, left_at, right_at, out_rows, out_records);
  } else {
    scatter_rows_of<uint32_t>(left, rows, first, records, n, left_at, right_at, out_rows, out_records);
  }
}

// Sums the whole gradients and hessians of a leaf's rows.
inline Sums sum_records(const void* records, int64_t n, Mode mode) {
  Sums sums;
  sums.count = n;
  if (mode == Mode::kSingle) {
    auto* r = static_cast<const Single*>(records);
    for (int64_t i = 0; i < n; ++i) sums.g += r[i].g;
    sums.h = n;
  } else if (mode == Mode::kWide) {
    auto* r = static_cast<const Pair*>(records);
    for (int64_t i = 0; i < n; ++i) {
      sums.g += r[i].g;
      sums.h += r[i].h;
    }
  } else {
    auto* r = static_cast<const Pair*>(records);
    for (int64_t i = 0; i < n; ++i) {
      sums.g += whole_gradient(r[i]);
      sums.h += whole_hessian(r[i]);
    }
  }
  return sums;
}

}  // namespace sapwood
