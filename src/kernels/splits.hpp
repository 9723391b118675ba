// Finds the best split of a node on one feature, from its histogram or, if it is small, from its rows.
#pragma once
#include <cstdint>
#include <cstring>

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
inline constexpr int kFewRows = 128;            // a node of at most so many rows is searched row by row: most bins are empty

// The sums of the rows that go left, for each candidate threshold of a feature in ascending order.
struct Candidates {
  int n = 0;
  alignas(32) int64_t g[260], h[260], count[260];
  int32_t bin[260];
};

// Whole numbers below 2^51 as doubles.
inline f64x4 to_double(const int64_t* p) {
  i64x4 v;
  std::memcpy(&v, p, sizeof v);
  return (f64x4)(v + (i64x4)splat(kRound)) - kRound;
}

// Keeps the best of a feature's candidates if it beats `best`. A tie goes to the lower bin, and to missing values on the right.
//   missing  sums of the rows whose value is missing
inline void choose(Candidates& c, const Sums& missing, const Rules& rules, const Sums& node, Split& best) {
  for (int b = c.n; b < c.n + 4; ++b) c.g[b] = c.h[b] = 0, c.count[b] = -(int64_t(1) << 50);  // never enough rows
  const double unit = rules.hessian_unit;
  const double total_h = double(node.h) * unit;
  const double parent = double(node.g) * double(node.g) / (total_h + rules.l2);
  const double floor = rules.min_gain + (rules.noise > 0 ? rules.noise * double(node.count) / total_h : 0.0);
  const f64x4 node_g = splat(double(node.g)), node_h = splat(total_h), node_count = splat(double(node.count));
  const f64x4 min_count = splat(double(rules.min_count)), min_hessian = splat(rules.min_hessian);
  for (int direction = 0; direction <= int(missing.count > 0); ++direction) {
    const Sums shift = direction ? missing : Sums{};
    const f64x4 add_g = splat(double(shift.g)), add_h = splat(double(shift.h)), add_count = splat(double(shift.count));
    // Where left and right have rows enough: counts ascend.
    int first = 0, end = c.n;
    while (first < end && c.count[first] + shift.count < rules.min_count) ++first;
    while (end > first && node.count - c.count[end - 1] - shift.count < rules.min_count) --end;
    f64x4 top = splat(-1.0), where = splat(0.0), index = splat(double(first)) + f64x4{0, 1, 2, 3};
    for (int b = first; b < end; b += 4, index += 4.0) {
      const f64x4 lg = to_double(c.g + b) + add_g, lh = (to_double(c.h + b) + add_h) * unit, lc = to_double(c.count + b) + add_count;
      const f64x4 rg = node_g - lg, rh = node_h - lh, rc = node_count - lc;
      const f64x4 lden = lh + rules.l2, rden = rh + rules.l2;
      const f64x4 score = (lg * lg * rden + rg * rg * lden) / (lden * rden);
      const i64x4 valid = (lc >= min_count) & (rc >= min_count) & (lh >= min_hessian) & (rh >= min_hessian) & (lden * rden > 0.0);
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
    best.bin = c.bin[b];
    best.missing_left = direction == 1;
    best.any_missing = missing.count > 0;
    best.left = {c.g[b] + shift.g, c.h[b] + shift.h, c.count[b] + shift.count};
  }
}

// The best split of a node on one feature, from its histogram.
//   cells  (n + has_missing_bin,) cells of the feature: the missing bin is the last   IN
inline void scan_bins(const int64_t* cells, int n, bool has_missing_bin, const Format& format, const Rules& rules, const Sums& node,
                      Split& best) {
  Candidates c;
  const int64_t mask = format.count_mask();
  const int bits = format.count_bits;
  Sums missing;
  if (format.mode == Mode::kSingle) {
    int64_t sum = 0;
    for (int b = 0; b < n; ++b) {
      sum += cells[b];
      c.g[b] = sum >> bits;
      c.h[b] = c.count[b] = sum & mask;
    }
    if (has_missing_bin) missing = {cells[n] >> bits, cells[n] & mask, cells[n] & mask};
  } else {
    int64_t g = 0, word = 0;
    for (int b = 0; b < n; ++b) {
      g += cells[2 * b];
      word += cells[2 * b + 1];
      c.g[b] = g;
      c.h[b] = word >> bits;
      c.count[b] = word & mask;
    }
    if (has_missing_bin) missing = {cells[2 * n], cells[2 * n + 1] >> bits, cells[2 * n + 1] & mask};
  }
  c.n = n;
  for (int b = 0; b < n; ++b) c.bin[b] = b;
  choose(c, missing, rules, node, best);
}

// The rows of a small node: where their bins are, and what each adds to a bin.
struct FewRows {
  int n = 0;
  const uint8_t* bins[kFewRows];
  int64_t g[kFewRows], word[kFewRows];  // word: hessian << count_bits | 1
};

// Sums by bin, all zero between two uses.
struct FewCells {
  int64_t sums[256][2] = {};
};

// The same from the rows themselves: only the bins they fall in are touched.
//   feature  its place in rows.bins
inline void scan_rows(const FewRows& rows, int feature, int n, bool has_missing_bin, const Format& format, const Rules& rules,
                      const Sums& node, FewCells& cells, Split& best) {
  uint64_t occupied[4] = {};
  for (int i = 0; i < rows.n; ++i) {
    const uint8_t b = rows.bins[i][feature];
    cells.sums[b][0] += rows.g[i];
    cells.sums[b][1] += rows.word[i];
    occupied[b >> 6] |= uint64_t(1) << (b & 63);
  }
  Candidates c;
  const int64_t mask = format.count_mask();
  const int bits = format.count_bits;
  Sums missing;
  int64_t g = 0, word = 0;
  for (int k = 0; k < 4; ++k) {
    for (uint64_t left = occupied[k]; left; left &= left - 1) {
      const int b = 64 * k + __builtin_ctzll(left);
      int64_t* cell = cells.sums[b];
      if (has_missing_bin && b == n) {
        missing = {cell[0], cell[1] >> bits, cell[1] & mask};
      } else {
        g += cell[0];
        word += cell[1];
        c.g[c.n] = g;
        c.h[c.n] = word >> bits;
        c.count[c.n] = word & mask;
        c.bin[c.n++] = b;
      }
      cell[0] = cell[1] = 0;
    }
  }
  choose(c, missing, rules, node, best);
}

// The other child: parent - child, in place of the parent.
inline void subtract_words(int64_t* parent, const int64_t* child, int64_t n) {
  for (int64_t i = 0; i < n; ++i) parent[i] -= child[i];
}

}  // namespace sapwood
