// Sends the rows of a node to its children.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fixed.hpp"
#include "histogram.hpp"

namespace sapwood {
// One side of a split: its rows and their records.
template <class Record>
struct Side {
  uint32_t* rows;
  Record* records;
};

// Writes each row and its record to the left or right side, in order. Both sides have room for n (+ 1) rows.
//   column      bins of the split's feature: row r at column[r * stride]   IN
//   rows        (n + ahead,) uint32, or null for first, first + 1, ...     IN
//   goes_left   (256,) uint8: 1 for the bins that go left                  IN
// Returns the number of rows that went left.
template <class Record>
inline int64_t partition_rows(const uint8_t* column, size_t stride, const uint8_t* goes_left, const uint32_t* rows, uint32_t first,
                       const void* records_, int64_t n, int64_t ahead, uint32_t* left_rows, void* left_records_, uint32_t* right_rows,
                       void* right_records_) {
  auto* records = static_cast<const Record*>(records_);
  auto* left_records = static_cast<Record*>(left_records_);
  auto* right_records = static_cast<Record*>(right_records_);
  constexpr int64_t kFar = 64;  // rows: a row takes about a nanosecond here
  int64_t n_left = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (rows && i + kFar < n + ahead) prefetch(column + size_t(rows[i + kFar]) * stride);
    const uint32_t row = rows ? rows[i] : first + uint32_t(i);
    const Record record = records[i];
    const int64_t left = goes_left[column[size_t(row) * stride]];
    left_rows[n_left] = row;
    left_records[n_left] = record;
    right_rows[i - n_left] = row;
    right_records[i - n_left] = record;
    n_left += left;
  }
  return n_left;
}

inline int64_t partition_any(int record_size, const uint8_t* column, size_t stride, const uint8_t* goes_left, const uint32_t* rows,
                      uint32_t first, const void* records, int64_t n, int64_t ahead, uint32_t* left_rows, void* left_records,
                      uint32_t* right_rows, void* right_records) {
  return record_size == sizeof(Pair) ? partition_rows<Pair>(column, stride, goes_left, rows, first, records, n, ahead, left_rows,
                                                            left_records, right_rows, right_records)
                                     : partition_rows<Single>(column, stride, goes_left, rows, first, records, n, ahead, left_rows,
                                                              left_records, right_rows, right_records);
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
