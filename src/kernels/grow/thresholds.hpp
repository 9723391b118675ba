// The best threshold of a numeric feature, from the cells of a histogram.
#pragma once
#include <cstdint>
#include <cstring>

#include "core/fixed.hpp"
#include "core/simd.hpp"
#include "grow/rules.hpp"

namespace sapwood {

inline constexpr double kRelativeGain = 1e-12;  // gain below this fraction of the children's score is rounding

// Whole numbers below 2^51 as doubles. Unsigned, since lanes that nobody looks at may hold anything.
inline f64x4 to_double(i64x4 v) { return (f64x4)((u64x4)v + (u64x4)splat(kRound)) - kRound; }

// Cumulative sums of four bins after the other, from cells of one word: gradient << count_bits | count. Every hessian is one.
class SingleSums {
 public:
  static constexpr int kWords = 1;
  static constexpr int kOrder[4] = {0, 1, 2, 3};  // bins of the lanes
  explicit SingleSums(int count_bits)
      : bits_(count_bits), mask_((int64_t(1) << count_bits) - 1), shift_((u64x4)splat(kRound) - ((uint64_t(1) << 63) >> count_bits)) {}

  // Adds four cells, and keeps the sums.
  //   sums  (4,)   OUT
  void add(const int64_t* cells, int64_t* sums) {
    u64x4 v;
    std::memcpy(&v, cells, sizeof v);
    const u64x4 zero{};
    v += shuffle<4, 0, 4, 2>(v, zero);
    v += shuffle<4, 4, 1, 1>(v, zero);
    words_ = v + before_;
    before_ = before_ + shuffle<3, 3, 3, 3>(v, v);
    std::memcpy(sums, &words_, sizeof words_);
  }
  // Reads four sums, and adds some rows.
  void read(const int64_t* sums, const Sums& rows) {
    std::memcpy(&words_, sums, sizeof words_);
    words_ += (uint64_t(rows.g) << bits_) + uint64_t(rows.count);
  }

  // An arithmetic shift, and the bits of the double.
  f64x4 g() const { return (f64x4)(((words_ ^ (uint64_t(1) << 63)) >> bits_) + shift_) - kRound; }
  f64x4 h() const { return to_double(count()); }
  i64x4 count() const { return (i64x4)words_ & mask_; }

  Sums at(const int64_t* sums, int i) const { return {sums[i] >> bits_, sums[i] & mask_, sums[i] & mask_}; }

 private:
  int bits_;
  int64_t mask_;
  u64x4 shift_, words_{}, before_{};
};

// The same from cells of two words: gradient, and hessian << count_bits | count.
class PairSums {
 public:
  static constexpr int kWords = 2;
  static constexpr int kOrder[4] = {0, 2, 1, 3};
  explicit PairSums(int count_bits) : bits_(count_bits), mask_((int64_t(1) << count_bits) - 1) {}

  void add(const int64_t* cells, int64_t* sums) {
    u64x4 a, b;
    std::memcpy(&a, cells, sizeof a);
    std::memcpy(&b, cells + 4, sizeof b);
    const u64x4 zero{};
    a += shuffle<4, 4, 0, 1>(a, zero);
    b += shuffle<4, 4, 0, 1>(b, zero);
    b += shuffle<2, 3, 2, 3>(a, a);
    a += before_;
    const u64x4 all = shuffle<2, 3, 2, 3>(b, b);
    b += before_;
    before_ += all;
    g_ = shuffle<0, 4, 2, 6>(a, b);
    words_ = shuffle<1, 5, 3, 7>(a, b);
    std::memcpy(sums, &g_, sizeof g_);
    std::memcpy(sums + 4, &words_, sizeof words_);
  }
  void read(const int64_t* sums, const Sums& rows) {
    std::memcpy(&g_, sums, sizeof g_);
    std::memcpy(&words_, sums + 4, sizeof words_);
    g_ += uint64_t(rows.g);
    words_ += (uint64_t(rows.h) << bits_) + uint64_t(rows.count);
  }

  f64x4 g() const { return to_double((i64x4)g_); }
  f64x4 h() const { return to_double((i64x4)(words_ >> bits_)); }
  i64x4 count() const { return (i64x4)words_ & mask_; }

  // Writes the sums of one bin.
  static void write(int64_t* sums, int i, int64_t g, int64_t word) {
    int64_t* lane = sums + i / 4 * 8 + kOrder[i % 4];
    lane[0] = g, lane[4] = word;
  }
  Sums at(const int64_t* sums, int i) const {
    const int64_t* lane = sums + i / 4 * 8 + kOrder[i % 4];
    return {lane[0], lane[4] >> bits_, lane[4] & mask_};
  }

 private:
  int bits_;
  int64_t mask_;
  u64x4 g_{}, words_{};
  u64x4 before_{};
};

// The best of the thresholds of a numeric feature, four at a time: the operations of choose_of, without the arrays that it reads.
class ThresholdSearch {
 public:
  //   missing  sums of the rows whose value is missing
  ThresholdSearch(const SearchContext& context, const Sums& missing) : context_(context), missing_(missing) {
    const SplitRules& rules = context.rules;
    const Sums& node = context.sums;
    total_g_ = double(node.g), total_h_ = double(node.h) * rules.hessian_unit;
    parent_ = total_g_ * total_g_ / (total_h_ + rules.l2);
    floor_ = rules.min_gain + (rules.noise > 0 ? rules.noise * double(node.count) / total_h_ : 0.0);
  }

  // Keeps the best of n thresholds if it beats `best`; its bin is its number. Those that fill up the last four repeat the one before.
  //   left  cumulative sums
  //   next  reads those of thresholds b to b + 3 into `left`
  //   sums  memory of the sums, which has been written when all are read   IN
  template <class CumulativeSums, class Next>
  bool choose(CumulativeSums& left, int n, Next&& next, const int64_t* sums, bool missing_left, Split& best) const {
    const SplitRules& rules = context_.rules;
    const int64_t fewest = rules.min_count - 1, most = context_.sums.count - rules.min_count + 1;
    const double unit = rules.hessian_unit, l2 = rules.l2, total_g = total_g_, total_h = total_h_;
    constexpr auto order = CumulativeSums::kOrder;
    f64x4 least = splat(context_.least_score(parent_, floor_));
    f64x4 top = splat(-1.0), where = splat(0.0), index = {order[0], order[1], order[2], order[3]};
    for (int b = 0; b < n; b += 4, index += 4.0) {
      next(b);
      const i64x4 count = left.count(), enough = (count > fewest) & (count < most);
      const f64x4 lg = left.g(), lh = left.h() * unit, rg = total_g - lg, rh = total_h - lh;
      const f64x4 lden = lh + l2, rden = rh + l2, both = lden * rden;
      const f64x4 weighted = lg * lg * rden + rg * rg * lden;
      if (!any(enough & (weighted > least * both))) continue;
      const f64x4 score = weighted / both;
      const i64x4 better = enough & (min4(lh, rh) >= rules.min_hessian) & (both > 0.0) & (score > top);
      top = select(better, score, top);
      where = select(better, index, where);
      least = max4(least, top * SearchContext::kBelow);
    }
    int lane = 0;
    for (int k = 1; k < 4; ++k) {
      if (top[k] > top[lane] || (top[k] == top[lane] && where[k] < where[lane])) lane = k;
    }
    const double gain = top[lane] - parent_;
    if (top[lane] < 0 || !(gain > floor_) || !(gain > kRelativeGain * top[lane]) || !(gain > best.gain)) return false;
    best.gain = gain;
    best.bin = int(where[lane]);
    best.missing_left = missing_left;
    best.any_missing = missing_.count > 0;
    best.left = left.at(sums, best.bin);
    if (missing_left) best.left += missing_;
    return true;
  }

  // The same for sums that were written, with missing values on the left.
  template <class CumulativeSums>
  bool choose_missing_left(CumulativeSums& left, int n, const int64_t* sums, Split& best) const {
    if (missing_.count == 0) return false;
    const auto next = [&](int b) { left.read(sums + CumulativeSums::kWords * b, missing_); };
    return choose(left, n, next, sums, true, best);
  }

 private:
  const SearchContext& context_;
  const Sums& missing_;
  double total_g_, total_h_, parent_, floor_;
};

// Keeps the best threshold if it beats `best`.
//   cells  of n bins, without the missing bin   IN
template <class CumulativeSums>
inline void choose_threshold(const int64_t* cells, int n, int count_bits, const Sums& missing, const SearchContext& context, Split& best) {
  constexpr int kWords = CumulativeSums::kWords;
  const int whole = n & ~3;
  int64_t sums[kWords * 264], last[kWords * 4] = {};
  std::memcpy(last, cells + kWords * whole, size_t(n - whole) * kWords * sizeof *cells);
  CumulativeSums left(count_bits);
  const ThresholdSearch search(context, missing);
  const auto next = [&](int b) { left.add(b < whole ? cells + kWords * b : last, sums + kWords * b); };
  search.choose(left, n, next, sums, false, best);
  search.choose_missing_left(left, n, sums, best);
}

}  // namespace sapwood
