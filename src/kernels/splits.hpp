// Finds the best split of a node on one feature, from its histogram or, if it is small, from its rows.
#pragma once
#include <cstdint>
#include <cstring>

#include "fixed.hpp"
#include "layout.hpp"
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

// A feature's bins as a search sees them: n without the missing one, which comes after them if there is any.
struct Bins {
  Place place;
  int n;
  bool missing;
};

// Writes the bins of a feature whose common one is not stored in order, the common one in its place.
template <int kWords>
inline void restore_common(const int64_t* cells, const Bins& bins, const int64_t* node, int64_t* out) {
  const int before = bins.place.common, n_stored = bins.place.n_stored;
  int64_t rest[4] = {};  // several chains of additions
  int i = 0;
  for (; i + 4 <= n_stored * kWords; i += 4) {
    for (int k = 0; k < 4; ++k) rest[k] += cells[i + k];
  }
  for (int k = 0; i < n_stored * kWords; ++i, ++k) rest[k] += cells[i];
  std::memcpy(out, cells, size_t(before) * kWords * sizeof *out);
  for (int w = 0; w < kWords; ++w) {
    out[before * kWords + w] = node[w] - (kWords == 1 ? rest[0] + rest[1] + rest[2] + rest[3] : rest[w] + rest[w + 2]);
  }
  std::memcpy(out + (before + 1) * kWords, cells + before * kWords, size_t(n_stored - before) * kWords * sizeof *out);
}

// The rows of a node that are not in a feature's common bin.
inline int64_t count_stored(const int64_t* cells, const Bins& bins, const Format& format) {
  const int words = format.words();
  int64_t sum = 0;
  for (int i = 0; i < bins.place.n_stored; ++i) sum += cells[i * words + words - 1];
  return sum & format.count_mask();
}

// The best split of a node on one feature, from its histogram.
//   cells  of the feature's stored bins   IN
inline void scan_bins(const int64_t* cells, const Bins& bins, const Format& format, const Rules& rules, const Sums& node, Split& best) {
  // One side of any split has none of the rows in the common bin.
  if (bins.place.common != kNoCommon && count_stored(cells, bins, format) < rules.min_count) return;
  Candidates c;
  int64_t restored[2 * 257];
  const int n = bins.n;
  const int64_t mask = format.count_mask();
  const int bits = format.count_bits;
  Sums missing;
  if (format.mode == Mode::kSingle) {
    if (bins.place.common != kNoCommon) {
      const int64_t whole = (node.g << bits) + node.count;
      restore_common<1>(cells, bins, &whole, restored);
      cells = restored;
    }
    int64_t sum = 0;
    for (int b = 0; b < n; ++b) {
      sum += cells[b];
      c.g[b] = sum >> bits;
      c.h[b] = c.count[b] = sum & mask;
    }
    if (bins.missing) missing = {cells[n] >> bits, cells[n] & mask, cells[n] & mask};
  } else {
    if (bins.place.common != kNoCommon) {
      const int64_t whole[2] = {node.g, (node.h << bits) + node.count};
      restore_common<2>(cells, bins, whole, restored);
      cells = restored;
    }
    int64_t g = 0, word = 0;
    for (int b = 0; b < n; ++b) {
      g += cells[2 * b];
      word += cells[2 * b + 1];
      c.g[b] = g;
      c.h[b] = word >> bits;
      c.count[b] = word & mask;
    }
    if (bins.missing) missing = {cells[2 * n], cells[2 * n + 1] >> bits, cells[2 * n + 1] & mask};
  }
  c.n = n;
  for (int b = 0; b < n; ++b) c.bin[b] = b;
  choose(c, missing, rules, node, best);
}

// The rows of a small node: where their bins are, and what each adds to a bin.
struct FewRows {
  int n = 0;
  const uint8_t* bins[kFewRows];                            // of one group of columns
  const uint32_t *beside[kFewRows], *beside_end[kFewRows];  // the list beside it
  int64_t g[kFewRows], word[kFewRows];                      // word: hessian << count_bits | 1
};

// Sums by code, all zero between two uses.
class FewCells {
 public:
  void add(uint8_t code, int64_t g, int64_t word) {
    sums_[code][0] += g;
    sums_[code][1] += word;
    occupied_[code >> 6] |= uint64_t(1) << (code & 63);
  }

  // Calls f(code, g, word) for the codes [first, end) that rows fell in.
  template <class F>
  void visit(int first, int end, F&& f) const {
    for (int k = first >> 6; k < 4 && 64 * k < end; ++k) {
      uint64_t left = occupied_[k];
      if (first > 64 * k) left &= ~uint64_t(0) << (first - 64 * k);
      if (end < 64 * k + 64) left &= ~(~uint64_t(0) << (end - 64 * k));
      for (; left; left &= left - 1) {
        const int code = 64 * k + __builtin_ctzll(left);
        f(code, sums_[code][0], sums_[code][1]);
      }
    }
  }

  void clear() {
    visit(0, 256, [this](int code, int64_t, int64_t) { sums_[code][0] = sums_[code][1] = 0; });
    for (auto& bits : occupied_) bits = 0;
  }

 private:
  int64_t sums_[256][2] = {};
  uint64_t occupied_[4] = {};
};

// The same from the sums of a few rows: only the bins they fall in are touched.
//   first  the code of the feature's first stored bin
inline void scan_few(const FewCells& cells, int first, const Bins& bins, const Format& format, const Rules& rules, const Sums& node,
                     Split& best) {
  Candidates c;
  const int64_t mask = format.count_mask();
  const int bits = format.count_bits, common = bins.place.common, end = first + bins.place.n_stored;
  Sums missing;
  int64_t g = 0, word = 0;
  auto take = [&](int bin, int64_t bin_g, int64_t bin_word) {
    if (bins.missing && bin == bins.n) {
      missing = {bin_g, bin_word >> bits, bin_word & mask};
      return;
    }
    g += bin_g;
    word += bin_word;
    c.g[c.n] = g;
    c.h[c.n] = word >> bits;
    c.count[c.n] = word & mask;
    c.bin[c.n++] = bin;
  };
  if (common == kNoCommon) {
    cells.visit(first, end, [&](int code, int64_t bin_g, int64_t bin_word) { take(code - first, bin_g, bin_word); });
  } else {
    int64_t rest_g = node.g, rest_word = (node.h << bits) + node.count;
    cells.visit(first, end, [&](int, int64_t bin_g, int64_t bin_word) { rest_g -= bin_g, rest_word -= bin_word; });
    cells.visit(first, first + common, [&](int code, int64_t bin_g, int64_t bin_word) { take(code - first, bin_g, bin_word); });
    if (rest_word & mask) take(common, rest_g, rest_word);
    cells.visit(first + common, end, [&](int code, int64_t bin_g, int64_t bin_word) { take(code - first + 1, bin_g, bin_word); });
  }
  choose(c, missing, rules, node, best);
}

// The other child: parent - child, in place of the parent.
inline void subtract_words(int64_t* parent, const int64_t* child, int64_t n) {
  for (int64_t i = 0; i < n; ++i) parent[i] -= child[i];
}

}  // namespace sapwood
