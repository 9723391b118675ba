// Adds rows to histograms. Every sum is an integer sum: it does not depend on the order of rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "bins/inverted_lists.hpp"
#include "bins/short_lists.hpp"
#include "core/fixed.hpp"
#include "core/hash.hpp"

namespace sapwood {
inline void prefetch(const void* p) { __builtin_prefetch(p, 0, 3); }

inline constexpr int kAhead = 32;  // rows whose codes are prefetched

// The value that a row adds to a bin, for each format of gradients.
struct AddSingle {
  using Gradient = Single;
  using Word = int64_t;
  int shift, count_bits;
  explicit AddSingle(const HistogramFormat& f) : shift(f.gradient_shift), count_bits(f.count_bits) {}
  Word value(Single r) const { return (round_shift(r.g, shift) << count_bits) + 1; }
};
struct AddWide {
  using Gradient = Pair;
  typedef int64_t Word __attribute__((vector_size(16)));
  int gradient_shift, hessian_shift, count_bits;
  explicit AddWide(const HistogramFormat& f) : gradient_shift(f.gradient_shift), hessian_shift(f.hessian_shift), count_bits(f.count_bits) {}
  Word value(Pair r) const { return Word{round_shift(r.g, gradient_shift), (round_shift(int64_t(r.h), hessian_shift) << count_bits) + 1}; }
};

// Narrow gradients, added to cells of two words at once.
struct AddNarrowCell {
  using Gradient = Pair;
  using Word = AddWide::Word;
  int count_bits;
  explicit AddNarrowCell(const HistogramFormat& f) : count_bits(f.count_bits) {}
  Word value(Pair r) const { return Word{narrow_gradient(r), (int64_t(narrow_hessian(r)) << count_bits) + 1}; }
};

// The value that a row adds to a cell of two words, in any format.
inline void cell_of(const void* gradients, int64_t i, const HistogramFormat& format, int64_t& g, int64_t& word) {
  const int64_t one_hessian = int64_t(1) << format.count_bits;
  switch (format.gradients) {
    case GradientFormat::kSingle:
      g = round_shift(static_cast<const Single*>(gradients)[i].g, format.gradient_shift);
      word = one_hessian + 1;
      return;
    case GradientFormat::kWide: {
      const AddWide::Word w = AddWide(format).value(static_cast<const Pair*>(gradients)[i]);
      g = w[0], word = w[1];
      return;
    }
    case GradientFormat::kNarrow: {
      const Pair r = static_cast<const Pair*>(gradients)[i];
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
//   gradients  (n,)                                            IN
//   offsets  (n_features,): where a feature's bins begin     IN   n_features is a multiple of four
//   table    (total_bins,) Word                              IN/OUT
template <class Add>
void add_rows(const uint8_t* bins, size_t stride, const uint32_t* rows, uint32_t first, const void* gradients_, int64_t n, int n_features,
              const uint32_t* offsets, const HistogramFormat& format, void* table_) {
  const Add add(format);
  using Word = typename Add::Word;
  auto* gradients = static_cast<const typename Add::Gradient*>(gradients_);
  Word* base[64];  // of each feature
  for (int f = 0; f < n_features; ++f) base[f] = static_cast<Word*>(table_) + offsets[f];
  Word values[kRowsAtOnce];
  for (int64_t i = 0; rows && i < n && i < kAhead; ++i) prefetch(bins + size_t(rows[i]) * stride);
  for (int64_t begin = 0; begin < n; begin += kRowsAtOnce) {
    const int64_t end = begin + kRowsAtOnce < n ? begin + kRowsAtOnce : n;
    for (int64_t i = begin; i < end; ++i) values[i - begin] = add.value(gradients[i]);
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

// Of a column in a table of packed sums. With 256 the low bins of all columns would have the same few columns in the cache.
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
inline void add_packed(const uint8_t* bins, size_t stride, const uint32_t* rows, uint32_t first, const Pair* gradients, int64_t n,
                       int n_columns, uint64_t* table) {
  uint64_t values[kRowsAtOnce];
  for (int64_t i = 0; rows && i < n && i < kAhead; ++i) prefetch(bins + size_t(rows[i]) * stride);
  for (int64_t begin = 0; begin < n; begin += kRowsAtOnce) {
    const int64_t count = n - begin < kRowsAtOnce ? n - begin : kRowsAtOnce;
    for (int64_t i = 0; i < count; ++i) values[i] = uint64_t(pack(gradients[begin + i]));
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

inline void add_rows_any(const uint8_t* bins, size_t stride, const uint32_t* rows, uint32_t first, const void* gradients, int64_t n,
                         int n_features, const uint32_t* offsets, const HistogramFormat& format, void* table) {
  switch (format.gradients) {
    case GradientFormat::kNarrow:
      return add_packed(bins, stride, rows, first, static_cast<const Pair*>(gradients), n, n_features, static_cast<uint64_t*>(table));
    case GradientFormat::kWide: return add_rows<AddWide>(bins, stride, rows, first, gradients, n, n_features, offsets, format, table);
    case GradientFormat::kSingle: return add_rows<AddSingle>(bins, stride, rows, first, gradients, n, n_features, offsets, format, table);
  }
}

// Narrow gradients, packed.
struct AddPacked {
  using Gradient = Pair;
  using Word = uint64_t;
  explicit AddPacked(const HistogramFormat&) {}
  Word value(Pair r) const { return uint64_t(pack(r)); }
};

// Calls f with the way that rows are added to the bins of their lists.
template <class F>
void with_add(const HistogramFormat& format, bool packed, F&& f) {
  if (packed) return f(AddPacked(format));
  switch (format.gradients) {
    case GradientFormat::kNarrow: return f(AddNarrowCell(format));
    case GradientFormat::kWide: return f(AddWide(format));
    case GradientFormat::kSingle: return f(AddSingle(format));
  }
}

// Adds each row's value to the bins of its list.
//   begin   (n_rows + 1,) uint32: where the list of a row begins     IN
//   bins    of the lists                                            IN
//   cells   of the bins in row lists                                IN/OUT
template <class Add>
void add_lists(const Add& add, const uint32_t* begin, const uint32_t* bins, const uint32_t* rows, uint32_t first, const void* gradients_,
               int64_t n, void* cells_) {
  auto* cells = static_cast<typename Add::Word*>(cells_);
  auto* gradients = static_cast<const typename Add::Gradient*>(gradients_);
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = rows ? rows[i] : first + uint32_t(i);
    if (rows && i + 2 * kAhead < n) prefetch(begin + rows[i + 2 * kAhead]);
    if (rows && i + kAhead < n) prefetch(bins + begin[rows[i + kAhead]]);
    const auto value = add.value(gradients[i]);
    for (uint32_t k = begin[row], end = begin[row + 1]; k < end; ++k) cells[bins[k]] += value;
  }
}

// The same from short lists; there is a cell for their filler, too.
template <class Add>
void add_short(const Add& add, const ShortLists& lists, const uint32_t* rows, uint32_t first, const void* gradients_, int64_t n,
               void* cells_) {
  auto* cells = static_cast<typename Add::Word*>(cells_);
  auto* gradients = static_cast<const typename Add::Gradient*>(gradients_);
  const uint32_t* begin = lists.begin.data();
  const uint64_t* words = lists.words.data();
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = rows ? rows[i] : first + uint32_t(i);
    if (rows && i + 2 * kAhead < n) prefetch(begin + rows[i + 2 * kAhead]);
    if (rows && i + kAhead < n) prefetch(words + begin[rows[i + kAhead]]);
    const auto value = add.value(gradients[i]);
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
//   gradients  of the tile's rows   IN
template <class Add>
void add_tile(const Add& add, const InvertedLists& inverted, int64_t tile, uint32_t first, const void* gradients_, int64_t n,
              void* cells_) {
  using Word = typename Add::Word;
  auto* cells = static_cast<Word*>(cells_);
  auto* gradients = static_cast<const typename Add::Gradient*>(gradients_);
  Word values[kTileRows];
  for (int64_t i = 0; i < n; ++i) values[i] = add.value(gradients[i]);
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

// Turns wide gradients into narrow ones, rounding up or down by random bits of the row.
//   random  i -> 32 bits
template <class Random>
inline void narrow_gradients(Pair* gradients, int64_t n, Random&& random) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = random(i);
    const int32_t g = gradients[i].g;
    const int32_t narrow_g = (g + int32_t(bits & 0xffff)) >> kGradientShift;
    gradients[i].g =
        int32_t(uint32_t(narrow_g) << (kGradientShift + 1)) + (g - int32_t(uint32_t(narrow_g) << kGradientShift)) + (1 << kGradientShift);
    const uint32_t h = gradients[i].h;
    const uint32_t narrow_h = (h + ((bits >> 16) << (kHessianShift - 16))) >> kHessianShift;
    gradients[i].h = (narrow_h << (kHessianShift + 1)) + (h - (narrow_h << kHessianShift)) + (1u << kHessianShift);
  }
}

inline void narrow_gradients(Pair* gradients, int64_t n, uint32_t key, uint32_t first_row) {
  narrow_gradients(gradients, n, [=](int64_t i) { return hash_row(key, first_row + uint32_t(i)); });
}

}  // namespace sapwood
