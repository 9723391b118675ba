// Hashes of columns: sums, over rows, of hashes of value and row number. Zeros add nothing. See data/fingerprint.py.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

namespace sapwood {

// A hash of a number's bits; 0 for zero. All NaNs have the same hash, and so have 0.0 and -0.0.
inline uint64_t mix_bits(double x) {
  uint64_t bits = x != x ? 0x7ff8000000000000ull : std::bit_cast<uint64_t>(x + 0.0);
  bits ^= bits >> 33;
  bits *= 0xff51afd7ed558ccdull;
  bits ^= bits >> 33;
  return bits * 0xc4ceb9fe1a85ec53ull;
}

// Odd, so that no bit of what it is multiplied with is lost.
inline uint64_t odd_key(int64_t row) {
  uint64_t key = uint64_t(row + 1) * 0x9e3779b97f4a7c15ull;
  key ^= key >> 32;
  key *= 0xff51afd7ed558ccdull;
  return (key ^ (key >> 29)) | 1;
}

// Adds the hashes of rows [begin, end) of each column to sums, (n_columns,). Rows are numbered from `first_row` on.
template <class T>
void hash_columns(const T* x, int64_t row_stride, int64_t column_stride, int64_t begin, int64_t end, int n_columns, int64_t first_row,
                  uint64_t* sums) {
  constexpr int64_t kRows = 256;  // so that a block of rows stays in the cache, column after column
  uint64_t keys[kRows];
  for (int64_t at = begin; at < end; at += kRows) {
    const int64_t n = std::min(kRows, end - at);
    for (int64_t i = 0; i < n; ++i) keys[i] = odd_key(first_row + at + i);
    for (int f = 0; f < n_columns; ++f) {
      const T* column = x + at * row_stride + f * column_stride;
      uint64_t sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += mix_bits(double(column[i * row_stride])) * keys[i];
      sums[f] += sum;
    }
  }
}

// The same for the rows [begin, end) of a sparse table: entries that are not stored add nothing.
template <class T>
void hash_entries(const T* values, const int32_t* column, const int64_t* line_begin, int64_t begin, int64_t end, int64_t first_row,
                  uint64_t* sums) {
  for (int64_t row = begin; row < end; ++row) {
    const uint64_t key = odd_key(first_row + row);
    for (int64_t k = line_begin[row]; k < line_begin[row + 1]; ++k) sums[column[k]] += mix_bits(double(values[k])) * key;
  }
}

}  // namespace sapwood
