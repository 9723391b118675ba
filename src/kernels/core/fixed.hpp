// Fixed-point gradients of rows, and the sums of histograms.
//
// A float sum depends on its order, an integer sum does not. Right after the loss, a row's gradient and hessian become integers, and every
// later sum is exact, whatever the number of threads, pages or machines.
#pragma once
#include <cstdint>

namespace sapwood {

// A row's gradient and hessian. Wide form: plain 31-bit integers.
// Narrow form: `g` holds a 15-bit rounded gradient above a 17-bit residual (so that narrow * 2^16 + residual is the wide value), `h` a
// 13-bit rounded hessian above a 19-bit residual. Histograms add the rounded parts; leaf values come from the whole.
struct Pair {
  int32_t g;
  uint32_t h;
};
// A row's gradient where every hessian is one.
struct Single {
  int32_t g;
};

inline constexpr int kGradientShift = 16;                           // wide gradient = narrow << 16 + residual
inline constexpr int kHessianShift = 18;                            // wide hessian = narrow << 18 + residual
inline constexpr int64_t kMaxGradient = 16383LL << kGradientShift;  // of a row, wide
inline constexpr int64_t kMaxHessian = 8191LL << kHessianShift;

inline int narrow_gradient(Pair r) { return r.g >> (kGradientShift + 1); }
inline int narrow_hessian(Pair r) { return int(r.h >> (kHessianShift + 1)); }
inline int64_t whole_gradient(Pair r) {
  return (int64_t(r.g >> (kGradientShift + 1)) << kGradientShift) + (r.g & ((2 << kGradientShift) - 1)) - (1 << kGradientShift);
}
inline int64_t whole_hessian(Pair r) {
  return (int64_t(r.h >> (kHessianShift + 1)) << kHessianShift) + (r.h & ((2u << kHessianShift) - 1)) - (1 << kHessianShift);
}

// The packed form of one row, or of a block of at most kBlockRows rows: gradient | hessian | count in one 64-bit integer.
inline constexpr int kBlockRows = 4095;
inline constexpr int kPackedGradient = 37, kPackedHessian = 12;
inline int64_t pack(Pair r) {
  return (int64_t(narrow_gradient(r)) << kPackedGradient) + (int64_t(narrow_hessian(r)) << kPackedHessian) + 1;
}

// How a row's gradient and hessian are stored.
enum class GradientFormat : int {
  kSingle = 0,  // Single; a cell is one word: gradient << count_bits | count
  kWide = 1,    // Pair, wide; a cell is two words: gradient, and hessian << count_bits | count
  kNarrow = 2,  // Pair, narrow; blocks are summed packed, cells are two words as above
};

// How a tree's histograms hold their sums. It depends on numbers of the whole data set: words of several partitions add up.
struct HistogramFormat {
  GradientFormat gradients = GradientFormat::kWide;
  int count_bits = 20;     // enough for the number of all rows
  int gradient_shift = 0;  // low bits of a wide value dropped (with rounding) so that a whole table's sum fits its word
  int hessian_shift = 0;
  int words() const { return gradients == GradientFormat::kSingle ? 1 : 2; }
  int64_t count_mask() const { return (int64_t(1) << count_bits) - 1; }
  bool operator==(const HistogramFormat&) const = default;
};

// Sums over a node's rows, in the units of a histogram.
struct Sums {
  int64_t g = 0, h = 0, count = 0;

  Sums& operator+=(const Sums& other) {
    g += other.g, h += other.h, count += other.count;
    return *this;
  }
};

inline int64_t round_shift(int64_t x, int shift) { return (x + ((int64_t(1) << shift) >> 1)) >> shift; }

}  // namespace sapwood
