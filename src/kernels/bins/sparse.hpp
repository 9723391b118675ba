// Sparse matrices: an entry that is not stored is zero, or missing.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "bins/binning.hpp"
#include "bins/layout.hpp"
#include "core/pool.hpp"

namespace sapwood {

// A sparse matrix in compressed rows (CSR) or columns (CSC), as in SciPy: the entries of row (column) i are [indptr[i], indptr[i + 1]).
struct SparseMatrix {
  char type;  // NumPy's type code of the values
  const void* values;
  const int32_t* indices;  // column of an entry (CSR), or its row (CSC); ascending in each row or column
  const int64_t* indptr;   // (n_major + 1,)
  int64_t n_major;         // number of rows (CSR) or columns (CSC)
  int64_t n_minor;         // number of the others
  bool absent_missing;     // whether entries that are not stored are missing, not zero

  double absent() const { return absent_missing ? std::numeric_limits<double>::quiet_NaN() : 0.0; }
};

constexpr int64_t kMajorAtOnce = 2048;

// Calls f(begin, end) for blocks of rows (CSR) or columns (CSC), on several threads.
template <class F>
void over_major(int64_t n, int n_threads, F&& f) {
  parallel(n < 2 * kMajorAtOnce ? 1 : n_threads, (n + kMajorAtOnce - 1) / kMajorAtOnce, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) f(task * kMajorAtOnce, std::min(n, (task + 1) * kMajorAtOnce));
  });
}

// Whether indptr ascends and covers all entries, and indices are in range and ascend in each row (column).
inline bool is_sound(const SparseMatrix& matrix, int64_t n_entries, int n_threads) {
  std::atomic<bool> ok{matrix.indptr[0] == 0 && matrix.indptr[matrix.n_major] == n_entries};
  for (int64_t i = 0; i < matrix.n_major; ++i) {
    if (matrix.indptr[i] > matrix.indptr[i + 1]) return false;
  }
  if (!ok) return false;
  over_major(matrix.n_major, n_threads, [&](int64_t first, int64_t last) {
    bool bad = false;
    for (int64_t i = first; i < last; ++i) {
      int64_t before = -1;
      for (int64_t k = matrix.indptr[i]; k < matrix.indptr[i + 1]; ++k) {
        bad |= matrix.indices[k] <= before;
        before = matrix.indices[k];
      }
      bad |= before >= matrix.n_minor;
    }
    if (bad) ok = false;
  });
  return ok;
}

// Writes the matrix in the other order: columns for rows, or rows for columns.
//   item    bytes of a value                                             IN
//   values  (n_entries,), indices (n_entries,), begin (n_minor + 1,)     OUT
inline void transpose(const SparseMatrix& matrix, int item, char* values, int32_t* indices, int64_t* begin, int n_threads) {
  const int64_t n = matrix.n_minor, n_blocks = matrix.indptr[matrix.n_major] / n >= n_threads ? std::max(1, n_threads) : 1;
  auto first_of = [&](int64_t block) { return matrix.n_major * block / n_blocks; };
  std::vector<int64_t> at(size_t(n_blocks * n));  // of each block: how many entries each new row has of it; then where they go
  auto over_blocks = [&](auto&& f) {
    parallel(n_threads, n_blocks, [&](int, Tasks& tasks) {
      for (int64_t block; (block = tasks.claim()) >= 0;) f(block, &at[size_t(block * n)]);
    });
  };
  over_blocks([&](int64_t block, int64_t* own) {
    for (int64_t k = matrix.indptr[first_of(block)]; k < matrix.indptr[first_of(block + 1)]; ++k) ++own[matrix.indices[k]];
  });
  begin[0] = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t next = begin[i];
    for (int64_t block = 0; block < n_blocks; ++block) next += std::exchange(at[size_t(block * n + i)], next);
    begin[i + 1] = next;
  }
  auto move = [&](auto value) {
    using Value = decltype(value);
    over_blocks([&](int64_t block, int64_t* own) {
      for (int64_t line = first_of(block); line < first_of(block + 1); ++line) {
        for (int64_t k = matrix.indptr[line]; k < matrix.indptr[line + 1]; ++k) {
          const int64_t to = own[matrix.indices[k]]++;
          indices[to] = int32_t(line);
          reinterpret_cast<Value*>(values)[to] = static_cast<const Value*>(matrix.values)[k];
        }
      }
    });
  };
  if (item == 1) return move(uint8_t{});
  if (item == 2) return move(uint16_t{});
  item == 4 ? move(uint32_t{}) : move(uint64_t{});
}

// The bin of one number: see `search`.
inline int bin_of(const double* cuts, int n_cuts, double x) {
  if (x != x) return n_cuts + 1;
  const double* at = cuts;
  for (int length = n_cuts; length > 1;) {
    const int half = length / 2;
    at = at[half - 1] < x ? at + half : at;
    length -= half;
  }
  return n_cuts ? int(at - cuts) + (*at < x) : 0;
}

// Where the bins of a sparse table go.
struct SparsePage {
  uint8_t* codes;  // (n_groups, n_rows, stride), zero: see Page
  int64_t n_rows;
  int width, stride;

  // Where the codes of a column begin; those of the next row are `stride` bytes further on.
  uint8_t* column(int c) const { return codes + int64_t(c / width) * n_rows * stride + c % width; }
};

// Bins a sparse table and stores it as `columns` says, whose default bins are those of absent entries. Returns the row lists.
//   missing  (n_features,): set to 1 where an entry was missing                                OUT
//   clashes  (n_features,): set to 1 where another feature already had the row in a shared column          OUT
inline std::pair<std::vector<uint32_t>, std::vector<uint32_t>> store_sparse(const SparseMatrix& rows, const Cuts& cuts,
                                                                            const ColumnLayout& columns, const SparsePage& page,
                                                                            uint8_t* missing, uint8_t* clashes, int n_threads) {
  const int n_features = int(rows.n_minor);
  std::vector<int> plain;
  std::vector<uint8_t> absent_bin(n_features);
  std::vector<uint8_t*> codes(n_features);
  auto n_cuts = [&](int f) { return int(cuts.begin[f + 1] - cuts.begin[f]); };
  for (int f = 0; f < n_features; ++f) {
    absent_bin[f] = uint8_t(bin_of(cuts.values + cuts.begin[f], n_cuts(f), rows.absent()));
    if (columns.features[f].default_bin == kNoDefault) plain.push_back(f);
    if (columns.features[f].column != kRowList) codes[f] = page.column(columns.features[f].column);
  }
  std::vector<uint8_t> bins(columns.n_list_bins > 0 ? rows.indptr[rows.n_major] : 0);  // of the entries, for the second pass
  std::vector<uint32_t> begin(rows.n_major + 1);
  std::vector<std::atomic<uint8_t>> seen(n_features), taken(n_features);
  with_number(rows.type, [&](auto zero) {
    auto* values = static_cast<const decltype(zero)*>(rows.values);
    over_major(rows.n_major, n_threads, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        const int64_t at = row * page.stride;
        for (int f : plain) codes[f][at] = absent_bin[f];
        uint32_t length = 0;
        for (int64_t k = rows.indptr[row]; k < rows.indptr[row + 1]; ++k) {
          const int f = rows.indices[k];
          const FeatureStorage& storage = columns.features[f];
          const int bin = bin_of(cuts.values + cuts.begin[f], n_cuts(f), double(values[k]));
          if (bin == n_cuts(f) + 1) seen[f].store(1, std::memory_order_relaxed);
          if (!bins.empty()) bins[k] = uint8_t(bin);
          if (storage.default_bin == kNoDefault) {
            codes[f][at] = uint8_t(bin);
          } else if (bin == storage.default_bin) {
            continue;
          } else if (storage.column == kRowList) {
            ++length;
          } else {
            uint8_t& code = codes[f][at];
            if (code != 0) taken[f].store(1, std::memory_order_relaxed);
            code = uint8_t(storage.first + storage.stored_of(bin));
          }
        }
        begin[row + 1] = length;
      }
    });
  });
  for (int f = 0; f < n_features; ++f) missing[f] |= seen[f], clashes[f] |= taken[f];
  for (int64_t row = 0; row < rows.n_major; ++row) begin[row + 1] += begin[row];
  std::vector<uint32_t> listed(begin.back());
  if (!listed.empty()) {
    over_major(rows.n_major, n_threads, [&](int64_t first, int64_t last) {
      uint32_t at = begin[first];
      for (int64_t k = rows.indptr[first]; k < rows.indptr[last]; ++k) {
        const FeatureStorage& storage = columns.features[rows.indices[k]];
        if (storage.column == kRowList && bins[k] != storage.default_bin)
          listed[at++] = uint32_t(storage.first + storage.stored_of(bins[k]));
      }
    });
  }
  return {std::move(begin), std::move(listed)};
}

// Bundles features that exclude each other: each joins the first of the newest bundles that has room and no row that both store.
//   columns  the rows in which each feature is not in its default bin        IN
//   order    the features to place, in turn                                 IN
//   n_codes  (n_features,) that each needs                                  IN
//   bundle   (n_features,): the number of its bundle, -1 if it has none     OUT
inline void bundle_features(const SparseMatrix& columns, const int32_t* order, int64_t n_order, const int32_t* n_codes, int max_codes,
                            int n_open, int32_t* bundle) {
  const int64_t n_words = (columns.n_minor + 63) / 64;
  struct Open {
    std::vector<uint64_t> taken;
    int codes;
    int32_t number;
  };
  std::vector<Open> open;
  int32_t n_columns = 0;
  for (int64_t i = 0; i < n_order; ++i) {
    const int32_t f = order[i];
    const int32_t* rows = columns.indices + columns.indptr[f];
    const int32_t* end = columns.indices + columns.indptr[f + 1];
    auto bit = [](int32_t row) { return uint64_t(1) << (row & 63); };
    auto fits = [&](const Open& column) {
      return column.codes + n_codes[f] <= max_codes &&
             std::none_of(rows, end, [&](int32_t row) { return column.taken[row >> 6] & bit(row); });
    };
    auto column = std::find_if(open.begin(), open.end(), fits);
    if (column == open.end()) {
      if (int(open.size()) == n_open) open.erase(open.begin());
      open.push_back({std::vector<uint64_t>(n_words), 1, n_columns++});
      column = open.end() - 1;
    }
    for (const int32_t* row = rows; row < end; ++row) column->taken[*row >> 6] |= bit(*row);
    column->codes += n_codes[f];
    bundle[f] = column->number;
  }
}

// Writes some rows (columns) to a dense array, (n, last - first): the indices [first, last) of each.
inline void fill_dense(const SparseMatrix& matrix, int64_t first_major, int64_t n, int first, int last, double* out, int n_threads) {
  const int64_t width = last - first;
  with_number(matrix.type, [&](auto zero) {
    auto* values = static_cast<const decltype(zero)*>(matrix.values);
    over_major(n, n_threads, [&](int64_t a, int64_t b) {
      std::fill(out + a * width, out + b * width, matrix.absent());
      for (int64_t i = a; i < b; ++i) {
        const int32_t* from = matrix.indices + matrix.indptr[first_major + i];
        const int32_t* end = matrix.indices + matrix.indptr[first_major + i + 1];
        if (first > 0) from = std::lower_bound(from, end, first);
        for (; from < end && *from < last; ++from) out[i * width + *from - first] = double(values[from - matrix.indices]);
      }
    });
  });
}

// The lists of some rows.
inline std::pair<std::vector<uint32_t>, std::vector<uint32_t>> take_lists(const uint32_t* begin, const uint32_t* listed,
                                                                          const int64_t* rows, int64_t n, int n_threads) {
  std::vector<uint32_t> to(n + 1);
  for (int64_t i = 0; i < n; ++i) to[i + 1] = to[i] + (begin[rows[i] + 1] - begin[rows[i]]);
  std::vector<uint32_t> out(to[n]);
  over_major(n, n_threads, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      std::memcpy(out.data() + to[i], listed + begin[rows[i]], size_t(to[i + 1] - to[i]) * sizeof(uint32_t));
    }
  });
  return {std::move(to), std::move(out)};
}

}  // namespace sapwood
