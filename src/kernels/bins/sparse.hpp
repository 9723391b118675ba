// Sparse tables: what is not there is zero, or missing.
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

// The rows of a sparse table, or its columns: the entries of line i are [begin[i], begin[i + 1]).
struct Lines {
  char type;  // NumPy's type code of the values
  const void* values;
  const int32_t* across;  // the column of an entry (in a row), or its row (in a column); ascending in each line
  const int64_t* begin;   // (n_lines + 1,)
  int64_t n_lines;
  int64_t n_across;
  bool absent_missing;  // whether what is not there is missing, not zero

  double absent() const { return absent_missing ? std::numeric_limits<double>::quiet_NaN() : 0.0; }
};

constexpr int64_t kLinesAtOnce = 2048;

// Calls f(begin, end) for blocks of lines, on several threads.
template <class F>
void over_lines(int64_t n, int n_threads, F&& f) {
  parallel(n < 2 * kLinesAtOnce ? 1 : n_threads, (n + kLinesAtOnce - 1) / kLinesAtOnce, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) f(task * kLinesAtOnce, std::min(n, (task + 1) * kLinesAtOnce));
  });
}

// Whether every entry is where it says: lines one after the other, entries in range and ascending.
inline bool is_sound(const Lines& lines, int64_t n_entries, int n_threads) {
  std::atomic<bool> ok{lines.begin[0] == 0 && lines.begin[lines.n_lines] == n_entries};
  for (int64_t i = 0; i < lines.n_lines; ++i) {
    if (lines.begin[i] > lines.begin[i + 1]) return false;
  }
  if (!ok) return false;
  over_lines(lines.n_lines, n_threads, [&](int64_t first, int64_t last) {
    bool bad = false;
    for (int64_t i = first; i < last; ++i) {
      int64_t before = -1;
      for (int64_t k = lines.begin[i]; k < lines.begin[i + 1]; ++k) {
        bad |= lines.across[k] <= before;
        before = lines.across[k];
      }
      bad |= before >= lines.n_across;
    }
    if (bad) ok = false;
  });
  return ok;
}

// Turns rows into columns, or columns into rows.
//   item    bytes of a value                                             IN
//   values  (n_entries,), across (n_entries,), begin (n_across + 1,)     OUT
inline void turn_lines(const Lines& lines, int item, char* values, int32_t* across, int64_t* begin, int n_threads) {
  const int64_t n = lines.n_across, n_blocks = lines.begin[lines.n_lines] / n >= n_threads ? std::max(1, n_threads) : 1;
  auto first_of = [&](int64_t block) { return lines.n_lines * block / n_blocks; };
  std::vector<int64_t> at(size_t(n_blocks * n));  // of each block: how many entries each new line has of it; then where they go
  auto over_blocks = [&](auto&& f) {
    parallel(n_threads, n_blocks, [&](int, Tasks& tasks) {
      for (int64_t block; (block = tasks.claim()) >= 0;) f(block, &at[size_t(block * n)]);
    });
  };
  over_blocks([&](int64_t block, int64_t* own) {
    for (int64_t k = lines.begin[first_of(block)]; k < lines.begin[first_of(block + 1)]; ++k) ++own[lines.across[k]];
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
        for (int64_t k = lines.begin[line]; k < lines.begin[line + 1]; ++k) {
          const int64_t to = own[lines.across[k]]++;
          across[to] = int32_t(line);
          reinterpret_cast<Value*>(values)[to] = static_cast<const Value*>(lines.values)[k];
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
inline std::pair<std::vector<uint32_t>, std::vector<uint32_t>> store_sparse(const Lines& rows, const Cuts& cuts,
                                                                            const ColumnLayout& columns, const SparsePage& page,
                                                                            uint8_t* missing, uint8_t* clashes, int n_threads) {
  const int n_features = int(rows.n_across);
  std::vector<int> plain;
  std::vector<uint8_t> absent_bin(n_features);
  std::vector<uint8_t*> codes(n_features);
  auto n_cuts = [&](int f) { return int(cuts.begin[f + 1] - cuts.begin[f]); };
  for (int f = 0; f < n_features; ++f) {
    absent_bin[f] = uint8_t(bin_of(cuts.values + cuts.begin[f], n_cuts(f), rows.absent()));
    if (columns.features[f].default_bin == kNoDefault) plain.push_back(f);
    if (columns.features[f].column != kRowList) codes[f] = page.column(columns.features[f].column);
  }
  std::vector<uint8_t> bins(columns.n_list_bins > 0 ? rows.begin[rows.n_lines] : 0);  // of the entries, for the second pass
  std::vector<uint32_t> begin(rows.n_lines + 1);
  std::vector<std::atomic<uint8_t>> seen(n_features), taken(n_features);
  with_number(rows.type, [&](auto zero) {
    auto* values = static_cast<const decltype(zero)*>(rows.values);
    over_lines(rows.n_lines, n_threads, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        const int64_t at = row * page.stride;
        for (int f : plain) codes[f][at] = absent_bin[f];
        uint32_t length = 0;
        for (int64_t k = rows.begin[row]; k < rows.begin[row + 1]; ++k) {
          const int f = rows.across[k];
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
  for (int64_t row = 0; row < rows.n_lines; ++row) begin[row + 1] += begin[row];
  std::vector<uint32_t> listed(begin.back());
  if (!listed.empty()) {
    over_lines(rows.n_lines, n_threads, [&](int64_t first, int64_t last) {
      uint32_t at = begin[first];
      for (int64_t k = rows.begin[first]; k < rows.begin[last]; ++k) {
        const FeatureStorage& storage = columns.features[rows.across[k]];
        if (storage.column == kRowList && bins[k] != storage.default_bin)
          listed[at++] = uint32_t(storage.first + storage.stored_of(bins[k]));
      }
    });
  }
  return {std::move(begin), std::move(listed)};
}

// Puts features that exclude each other together: each in the first of the newest columns that has room and no row that both store.
//   columns  the rows in which each feature is not in its default bin        IN
//   order    the features to place, in turn                                 IN
//   n_codes  (n_features,) that each needs                                  IN
//   shared   (n_features,): the number of its column, -1 if it has none     OUT
inline void share_columns(const Lines& columns, const int32_t* order, int64_t n_order, const int32_t* n_codes, int max_codes, int n_open,
                          int32_t* shared) {
  const int64_t n_words = (columns.n_across + 63) / 64;
  struct Open {
    std::vector<uint64_t> taken;
    int codes;
    int32_t number;
  };
  std::vector<Open> open;
  int32_t n_columns = 0;
  for (int64_t i = 0; i < n_order; ++i) {
    const int32_t f = order[i];
    const int32_t* rows = columns.across + columns.begin[f];
    const int32_t* end = columns.across + columns.begin[f + 1];
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
    shared[f] = column->number;
  }
}

// Some lines as rows of a dense table, only the features [first, last).
inline void fill_dense(const Lines& lines, int64_t first_line, int64_t n, int first, int last, double* out, int n_threads) {
  const int64_t width = last - first;
  with_number(lines.type, [&](auto zero) {
    auto* values = static_cast<const decltype(zero)*>(lines.values);
    over_lines(n, n_threads, [&](int64_t a, int64_t b) {
      std::fill(out + a * width, out + b * width, lines.absent());
      for (int64_t i = a; i < b; ++i) {
        const int32_t* from = lines.across + lines.begin[first_line + i];
        const int32_t* end = lines.across + lines.begin[first_line + i + 1];
        if (first > 0) from = std::lower_bound(from, end, first);
        for (; from < end && *from < last; ++from) out[i * width + *from - first] = double(values[from - lines.across]);
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
  over_lines(n, n_threads, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      std::memcpy(out.data() + to[i], listed + begin[rows[i]], size_t(to[i + 1] - to[i]) * sizeof(uint32_t));
    }
  });
  return {std::move(to), std::move(out)};
}

}  // namespace sapwood
