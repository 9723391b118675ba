// Finds the best split of a node on one feature, from its histogram.
#pragma once
#include <cstdint>

#include "fixed.hpp"
#include "simd.hpp"

namespace sapwood {

// The rules a split must keep, in the units of the histogram.
struct Rules {
  double l2 = 0;            // added to hessians (real units)
  double hessian_unit = 1;  // what one unit of a histogram's hessian is worth
  double min_hessian = 0;   // of a child (real units)
  double min_gain = 0;      // in squared gradient units of the histogram
  double noise = 0;         // gain that rounding alone may show, times count / hessian
  int64_t min_count = 1;    // of a child
};

// A split: rows whose bin is at most `bin` go left; those in the missing bin go left if `missing_left`.
struct Split {
  double gain = -1;
  int32_t feature = -1;
  int32_t bin = 0;
  bool missing_left = false;
  bool any_missing = false;  // whether rows of the node are missing here
  Sums left;
};

inline constexpr double kRelativeGain = 1e-12;  // a smaller share of the children's score is rounding, not gain

// The best among the thresholds of one feature with `n` bins before the missing one, if any. A tie goes to the lower bin.
//   cells         (n_bins,) words of the feature      IN
//   missing       sums in the feature's missing bin; count 0 where it has none
inline void scan_feature(const int64_t* cells, int n, bool has_missing_bin, const Format& format, const Rules& rules, const Sums& node,
                         Split& best) {
  alignas(32) double gs[260], hs[260], counts[260];
  alignas(32) int64_t g_sums[260], h_sums[260], count_sums[260];
  const int64_t mask = format.count_mask();
  const int bits = format.count_bits;
  const bool single = format.mode == Mode::kSingle;
  Sums missing;
  if (has_missing_bin) {
    const int64_t* cell = cells + int64_t(n) * format.words();
    const int64_t word = single ? cell[0] : cell[1];
    missing.count = word & mask;
    missing.g = single ? word >> bits : cell[0];
    missing.h = single ? missing.count : word >> bits;
  }
  const bool any_missing = missing.count > 0;
  // Without missing rows the last bin is no candidate: all would go left.
  const int n_candidates = any_missing ? n : n - 1;
  if (n_candidates <= 0) return;
  if (single) {
    int64_t sum = 0;
    for (int b = 0; b < n_candidates; ++b) {
      sum += cells[b];
      g_sums[b] = sum >> bits;
      h_sums[b] = count_sums[b] = sum & mask;
    }
  } else {
    int64_t g = 0, word = 0;
    for (int b = 0; b < n_candidates; ++b) {
      g += cells[2 * b];
      word += cells[2 * b + 1];
      g_sums[b] = g;
      h_sums[b] = word >> bits;
      count_sums[b] = word & mask;
    }
  }
  for (int b = 0; b < n_candidates; ++b) {
    gs[b] = double(g_sums[b]);
    hs[b] = double(h_sums[b]);
    counts[b] = double(count_sums[b]);
  }
  for (int b = n_candidates; b < n_candidates + 4; ++b) gs[b] = hs[b] = counts[b] = -1.0;  // never enough rows

  const double unit = rules.hessian_unit;
  const double total_h = double(node.h) * unit;
  const double parent = double(node.g) * double(node.g) / (total_h + rules.l2);
  const double floor = rules.min_gain + rules.noise * double(node.count) / total_h;
  const f64x4 node_g = splat(double(node.g)), node_h = splat(total_h), node_count = splat(double(node.count));
  const f64x4 min_count = splat(double(rules.min_count)), min_hessian = splat(rules.min_hessian);
  for (int direction = 0; direction <= int(any_missing); ++direction) {
    const Sums shift = direction ? missing : Sums{};
    const f64x4 add_g = splat(double(shift.g)), add_h = splat(double(shift.h)), add_count = splat(double(shift.count));
    f64x4 top = splat(-1.0), where = splat(0.0), index = {0, 1, 2, 3};
    for (int b = 0; b < n_candidates; b += 4, index += 4.0) {
      const f64x4 lg = load4(gs + b) + add_g, lh = (load4(hs + b) + add_h) * unit, lc = load4(counts + b) + add_count;
      const f64x4 rg = node_g - lg, rh = node_h - lh, rc = node_count - lc;
      const f64x4 lden = lh + rules.l2, rden = rh + rules.l2;
      const f64x4 score = (lg * lg * rden + rg * rg * lden) / (lden * rden);
      const i64x4 valid = (lc >= min_count) & (rc >= min_count) & (lh >= min_hessian) & (rh >= min_hessian) & (lden * rden > 0.0) &
                          (load4(counts + b) >= 0.0);
      const i64x4 better = valid & (score > top);
      top = select(better, score, top);
      where = select(better, index, where);
    }
    int lane = 0;
    for (int k = 1; k < 4; ++k) {
      if (top[k] > top[lane] || (top[k] == top[lane] && where[k] < where[lane])) lane = k;
    }
    const double gain = top[lane] - parent;
    if (top[lane] < 0 || !(gain > floor) || !(gain > kRelativeGain * top[lane]) || !(gain > best.gain)) continue;
    const int b = int(where[lane]);
    best.gain = gain;
    best.bin = b;
    best.missing_left = direction == 1;
    best.any_missing = any_missing;
    best.left = {g_sums[b] + shift.g, h_sums[b] + shift.h, count_sums[b] + shift.count};
  }
}

inline void scan(const int64_t* cells, int n, bool has_missing_bin, const Format& format, const Rules& rules, const Sums& node,
                 Split& best) {
  scan_feature(cells, n, has_missing_bin, format, rules, node, best);
}

// The other child: parent - child, in place of the parent.
inline void subtract_words(int64_t* parent, const int64_t* child, int64_t n) {
  for (int64_t i = 0; i < n; ++i) parent[i] -= child[i];
}

}  // namespace sapwood
