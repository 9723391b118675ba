// Adds rows to histograms. Every sum here is an integer sum: the order of rows leaves no trace.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "bins/inverted.hpp"
#include "bins/short_lists.hpp"
#include "core/fixed.hpp"
#include "core/hash.hpp"

namespace sapwood {
inline void prefetch(const void* p) { __builtin_prefetch(p, 0, 3); }

inline constexpr int kAhead = 32;  // rows of bins asked for before they are needed

// What a row adds to a bin, for each mode. `Cell` is one word or two.
struct AddSingle {
  using Record = Single;
  using Word = int64_t;
  int shift, count_bits;
  explicit AddSingle(const Format& f) : shift(f.gradient_shift), count_bits(f.count_bits) {}
  Word value(Single r) const { return (round_shift(r.g, shift) << count_bits) + 1; }
};
struct AddWide {
  using Record = Pair;
  typedef int64_t Word __attribute__((vector_size(16)));
  int gradient_shift, hessian_shift, count_bits;
  explicit AddWide(const Format& f) : gradient_shift(f.gradient_shift), hessian_shift(f.hessian_shift), count_bits(f.count_bits) {}
  Word value(Pair r) const { return Word{round_shift(r.g, gradient_shift), (round_shift(int64_t(r.h), hessian_shift) << count_bits) + 1}; }
};

// Narrow records, added to cells of two words right away.
struct AddNarrowCell {
  using Record = Pair;
  using Word = AddWide::Word;
  int count_bits;
  explicit AddNarrowCell(const Format& f) : count_bits(f.count_bits) {}
  Word value(Pair r) const { return Word{narrow_gradient(r), (int64_t(narrow_hessian(r)) << count_bits) + 1}; }
};

// What a row adds to a cell of two words, whatever the mode.
inline void cell_of(const void* records, int64_t i, const Format& format, int64_t& g, int64_t& word) {
  const int64_t one_hessian = int64_t(1) << format.count_bits;
  switch (format.mode) {
    case Mode::kSingle:
      g = round_shift(static_cast<const Single*>(records)[i].g, format.gradient_shift);
      word = one_hessian + 1;
      return;
    case Mode::kWide: {
      const AddWide::Word w = AddWide(format).value(static_cast<const Pair*>(records)[i]);
      g = w[0], word = w[1];
      return;
    }
    case Mode::kNarrow: {
      const Pair r = static_cast<const Pair*>(records)[i];
      g = narrow_gradient(r);
      word = narrow_hessian(r) * one_hessian + 1;
      return;
    }
  }
}

inline constexpr int64_t kRowsAtOnce = 512;  // whose bins stay in the nearest cache while one block of features after the other is added
inline constexpr int kFeaturesAtOnce = 16;   // whose sums nearly fit there too

// Adds each row's value to the bin it falls in, for a group of features, two rows at a time (two independent chains of adds).
//   bins     (n_rows, stride) uint8, row-major               IN
//   rows     (n,) uint32, or null for first, first + 1, ...  IN
//   records  (n,)                                            IN
//   offsets  (n_features,): where a feature's bins begin     IN   n_features is a multiple of four
//   table    (total_bins,) Word                              IN/OUT
template <class Add>
void add_rows(const uint8_t* bins, size_t stride, const uint32_t* rows, uint32_t first, const void* records_, int64_t n, int n_features,
              const uint32_t* offsets, const Format& format, void* table_) {
  const Add add(format);
  using Word = typename Add::Word;
  auto* records = static_cast<const typename Add::Record*>(records_);
  Word* base[64];  // of each feature
  for (int f = 0; f < n_features; ++f) base[f] = static_cast<Word*>(table_) + offsets[f];
  Word values[kRowsAtOnce];
  for (int64_t i = 0; rows && i < n && i < kAhead; ++i) prefetch(bins + size_t(rows[i]) * stride);
  for (int64_t begin = 0; begin < n; begin += kRowsAtOnce) {
    const int64_t end = begin + kRowsAtOnce < n ? begin + kRowsAtOnce : n;
    for (int64_t i = begin; i < end; ++i) values[i - begin] = add.value(records[i]);
    auto row_bins = [&](int64_t i) { return bins + size_t(rows ? rows[i] : first + uint32_t(i)) * stride; };
    for (int block = 0; block < n_features; block += kFeaturesAtOnce) {
      const int last = block + kFeaturesAtOnce < n_features ? block + kFeaturesAtOnce : n_features;
      int64_t i = begin;
      for (; i + 1 < end; i += 2) {
        const uint8_t* a = row_bins(i);
        const uint8_t* b = row_bins(i + 1);
        if (rows && block == 0 && i + kAhead + 1 < n) {
          prefetch(row_bins(i + kAhead));
          prefetch(row_bins(i + kAhead + 1));
        }
        const Word va = values[i - begin], vb = values[i + 1 - begin];
        for (int f = block; f < last; f += 4) {
          uint32_t x, y;
          std::memcpy(&x, a + f, 4);
          std::memcpy(&y, b + f, 4);
          Word* t = base[f];
          t[uint8_t(x)] += va;
          t[uint8_t(y)] += vb;
          t = base[f + 1];
          t[uint8_t(x >> 8)] += va;
          t[uint8_t(y >> 8)] += vb;
          t = base[f + 2];
          t[uint8_t(x >> 16)] += va;
          t[uint8_t(y >> 16)] += vb;
          t = base[f + 3];
          t[x >> 24] += va;
          t[y >> 24] += vb;
        }
      }
      if (i < end) {
        const uint8_t* a = row_bins(i);
        for (int f = block; f < last; ++f) base[f][a[f]] += values[i - begin];
      }
    }
  }
}

// Of a column in a table of packed sums. With 256 the low bins of all columns would have the same few places in the cache.
inline constexpr int kColumnWords = 264;

// Adds rows to kColumns columns of a table of packed sums. Where a column's sums are is known to the compiler: an add is a load of the bin
// and one instruction on memory.
//   row_bins  i -> the bins of row i, from the first of the columns
template <int kColumns, class RowBins>
inline void add_packed_block(RowBins&& row_bins, const uint64_t* values, int64_t n, uint64_t* table) {
  int64_t i = 0;
  for (; i + 1 < n; i += 2) {
    const uint8_t *a = row_bins(i), *b = row_bins(i + 1);
    const uint64_t va = values[i], vb = values[i + 1];
#pragma GCC unroll 4
    for (int f = 0; f < kColumns; f += 4) {
      uint32_t x, y;
      std::memcpy(&x, a + f, 4);
      std::memcpy(&y, b + f, 4);
      uint64_t* t = table + f * kColumnWords;
      t[uint8_t(x)] += va;
      t[uint8_t(y)] += vb;
      t[kColumnWords + uint8_t(x >> 8)] += va;
      t[kColumnWords + uint8_t(y >> 8)] += vb;
      t[2 * kColumnWords + uint8_t(x >> 16)] += va;
      t[2 * kColumnWords + uint8_t(y >> 16)] += vb;
      t[3 * kColumnWords + (x >> 24)] += va;
      t[3 * kColumnWords + (y >> 24)] += vb;
    }
  }
  if (i < n) {
    const uint8_t* a = row_bins(i);
    for (int f = 0; f < kColumns; ++f) table[f * kColumnWords + a[f]] += values[i];
  }
}

// Adds narrow rows to a table of packed sums, kColumnWords words a column.
//   n_columns  a multiple of four
inline void add_packed(const uint8_t* bins, size_t stride, const uint32_t* rows, uint32_t first, const Pair* records, int64_t n,
                       int n_columns, uint64_t* table) {
  uint64_t values[kRowsAtOnce];
  for (int64_t i = 0; rows && i < n && i < kAhead; ++i) prefetch(bins + size_t(rows[i]) * stride);
  for (int64_t begin = 0; begin < n; begin += kRowsAtOnce) {
    const int64_t count = n - begin < kRowsAtOnce ? n - begin : kRowsAtOnce;
    for (int64_t i = 0; i < count; ++i) values[i] = uint64_t(pack(records[begin + i]));
    int column = 0;
    auto add = [&](auto columns, auto&& row_bins) {
      for (; column + columns.value <= n_columns; column += columns.value) {
        add_packed_block<columns.value>(
            [&](int64_t i) {
              if (rows && column == 0 && begin + i + kAhead < n) prefetch(bins + size_t(rows[begin + i + kAhead]) * stride);
              return row_bins(i) + column;
            },
            values, count, table + column * kColumnWords);
      }
    };
    auto add_all = [&](auto&& row_bins) {
      add(std::integral_constant<int, 16>{}, row_bins);
      add(std::integral_constant<int, 8>{}, row_bins);
      add(std::integral_constant<int, 4>{}, row_bins);
    };
    if (rows) {
      add_all([&](int64_t i) { return bins + size_t(rows[begin + i]) * stride; });
    } else {
      add_all([&](int64_t i) { return bins + size_t(first + uint32_t(begin + i)) * stride; });
    }
  }
}

inline void add_rows_any(const uint8_t* bins, size_t stride, const uint32_t* rows, uint32_t first, const void* records, int64_t n,
                         int n_features, const uint32_t* offsets, const Format& format, void* table) {
  switch (format.mode) {
    case Mode::kNarrow:
      return add_packed(bins, stride, rows, first, static_cast<const Pair*>(records), n, n_features, static_cast<uint64_t*>(table));
    case Mode::kWide: return add_rows<AddWide>(bins, stride, rows, first, records, n, n_features, offsets, format, table);
    case Mode::kSingle: return add_rows<AddSingle>(bins, stride, rows, first, records, n, n_features, offsets, format, table);
  }
}

// Narrow records, packed.
struct AddPacked {
  using Record = Pair;
  using Word = uint64_t;
  explicit AddPacked(const Format&) {}
  Word value(Pair r) const { return uint64_t(pack(r)); }
};

// Calls f with what rows add to a bin beside them.
template <class F>
void with_add(const Format& format, bool packed, F&& f) {
  if (packed) return f(AddPacked(format));
  switch (format.mode) {
    case Mode::kNarrow: return f(AddNarrowCell(format));
    case Mode::kWide: return f(AddWide(format));
    case Mode::kSingle: return f(AddSingle(format));
  }
}

// Adds each row's value to the bins listed beside it.
//   begin   (n_rows + 1,) uint32: where the list of a row begins     IN
//   beside  bins                                                     IN
//   cells   those of the bins beside the rows                        IN/OUT
template <class Add>
void add_beside(const Add& add, const uint32_t* begin, const uint32_t* beside, const uint32_t* rows, uint32_t first, const void* records_,
                int64_t n, void* cells_) {
  auto* cells = static_cast<typename Add::Word*>(cells_);
  auto* records = static_cast<const typename Add::Record*>(records_);
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = rows ? rows[i] : first + uint32_t(i);
    if (rows && i + 2 * kAhead < n) prefetch(begin + rows[i + 2 * kAhead]);
    if (rows && i + kAhead < n) prefetch(beside + begin[rows[i + kAhead]]);
    const auto value = add.value(records[i]);
    for (uint32_t k = begin[row], end = begin[row + 1]; k < end; ++k) cells[beside[k]] += value;
  }
}

// The same from short lists: there is a cell for their filler, too.
template <class Add>
void add_short(const Add& add, const ShortLists& lists, const uint32_t* rows, uint32_t first, const void* records_, int64_t n,
               void* cells_) {
  auto* cells = static_cast<typename Add::Word*>(cells_);
  auto* records = static_cast<const typename Add::Record*>(records_);
  const uint32_t* begin = lists.begin.data();
  const uint64_t* words = lists.words.data();
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = rows ? rows[i] : first + uint32_t(i);
    if (rows && i + 2 * kAhead < n) prefetch(begin + rows[i + 2 * kAhead]);
    if (rows && i + kAhead < n) prefetch(words + begin[rows[i + kAhead]]);
    const auto value = add.value(records[i]);
    for (uint32_t k = begin[row], end = begin[row + 1]; k < end; ++k) {
      const uint64_t word = words[k];
      cells[uint16_t(word)] += value;
      cells[uint16_t(word >> 16)] += value;
      cells[uint16_t(word >> 32)] += value;
      cells[word >> 48] += value;
    }
  }
}

// The same for a tile of rows, bin by bin.
//   records  of the tile's rows   IN
template <class Add>
void add_tile(const Add& add, const Inverted& inverted, int64_t tile, uint32_t first, const void* records_, int64_t n, void* cells_) {
  using Word = typename Add::Word;
  auto* cells = static_cast<Word*>(cells_);
  auto* records = static_cast<const typename Add::Record*>(records_);
  Word values[kTileRows];
  for (int64_t i = 0; i < n; ++i) values[i] = add.value(records[i]);
  for (int64_t b = 0; b < inverted.n_bins(); ++b) {
    inverted.visit_in(tile, b, [&](const uint32_t* rows, const uint32_t* end) {
      Word x = cells[b], y{};  // two chains of adds
      for (; rows + 1 < end; rows += 2) {
        x += values[rows[0] - first];
        y += values[rows[1] - first];
      }
      if (rows < end) x += values[rows[0] - first];
      cells[b] = x + y;
    });
  }
}

// Moves n packed sums of a block into two-word cells, and clears them.
inline void unpack_block(int64_t* packed, int64_t n, int count_bits, int64_t* cells) {
  constexpr uint64_t kSign = uint64_t(1) << 63;
  constexpr int64_t kHessianMask = (int64_t(1) << (kPackedGradient - kPackedHessian)) - 1;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t sum = packed[i];
    packed[i] = 0;
    // An arithmetic shift, written so that it vectorises: shift the sign-flipped value, flip back.
    cells[2 * i] += int64_t((uint64_t(sum) ^ kSign) >> kPackedGradient) - int64_t(kSign >> kPackedGradient);
    cells[2 * i + 1] += (((sum >> kPackedHessian) & kHessianMask) << count_bits) + (sum & kBlockRows);
  }
}

// Moves n words of sums into others, and clears them.
inline void move_words(int64_t* from, int64_t n, int64_t* to) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] += from[i];
    from[i] = 0;
  }
}

// Turns wide records into narrow ones, rounding up or down by random bits of the row.
//   random  i -> 32 bits
template <class Random>
inline void narrow_records(Pair* records, int64_t n, Random&& random) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = random(i);
    const int32_t g = records[i].g;
    const int32_t narrow_g = (g + int32_t(bits & 0xffff)) >> kGradientShift;
    records[i].g =
        int32_t(uint32_t(narrow_g) << (kGradientShift + 1)) + (g - int32_t(uint32_t(narrow_g) << kGradientShift)) + (1 << kGradientShift);
    const uint32_t h = records[i].h;
    const uint32_t narrow_h = (h + ((bits >> 16) << (kHessianShift - 16))) >> kHessianShift;
    records[i].h = (narrow_h << (kHessianShift + 1)) + (h - (narrow_h << kHessianShift)) + (1u << kHessianShift);
  }
}

inline void narrow_records(Pair* records, int64_t n, uint32_t key, uint32_t first_row) {
  narrow_records(records, n, [=](int64_t i) { return hash_row(key, first_row + uint32_t(i)); });
}

}  // namespace sapwood
