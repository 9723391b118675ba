// Finds the best split of a node on one feature, from its histogram or, if it is small, from its rows.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "bins/layout.hpp"
#include "core/fixed.hpp"
#include "core/simd.hpp"
#include "grow/levels.hpp"

namespace sapwood {

// The rules a split must keep, in the units of the histogram.
struct Rules {
  double l2 = 0;             // added to hessians (real units)
  double hessian_unit = 1;   // what one unit of a histogram's hessian is worth
  double min_hessian = 0;    // of a child (real units)
  double min_gain = 0;       // in squared gradient units of the histogram
  double noise = 0;          // gain that rounding alone may show, times count / hessian
  int64_t min_count = 1;     // of a child
  double gradient_unit = 1;  // what one unit of a histogram's gradient is worth
};

// Rules that most trees do without. Real units.
struct Extras {
  double l1 = 0;                  // taken off gradient sums
  double max_step = kNoLimit;     // of a leaf's value
  double smooth = 0;              // rows that a parent's value counts for in its children's
  double score_noise = 0;         // relative, of a feature's gain where it is compared with others'
  bool extra = false;             // one threshold a feature, drawn at random
  bool joint = false;             // one split for all nodes of a level
  bool neighbours = false;        // monotonic values are bounded by their neighbours', not by the middle between them
  std::vector<double> weights;    // (n_features,) of gains where they are compared, or empty
  std::vector<int8_t> monotonic;  // (n_features,) 1: values must not fall as the feature rises; -1: must not rise; or empty
  std::vector<Kind> kinds;        // (n_features,), or empty where all are numbers
  CategoryRules categories;
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  // Whether a leaf's value is anything but -G / (H + l2).
  bool shape_values() const { return l1 > 0 || max_step < kNoLimit || smooth > 0 || !monotonic.empty(); }
  Kind kind(int feature) const { return kinds.empty() ? Kind::kNumber : kinds[feature]; }
};

// What the value of a node must keep to, and what it is. Real units.
struct Limits {
  double lower = -Extras::kNoLimit, upper = Extras::kNoLimit;
  double anchor = 0;  // the parent's value
  double value = 0;
};

// A split: rows whose bin is at most `bin`, or one of `levels`, go left; those in the missing bin go left if `missing_left`.
struct Split {
  double gain = -1;
  double score = -1;  // the gain as it is compared with other features'
  int32_t feature = -1;
  int32_t bin = 0;
  bool missing_left = false;
  bool any_missing = false;  // whether rows of the node are missing here
  bool counted = true;       // whether `left` is known
  bool by_levels = false;
  Sums left;
  LevelSet levels;

  bool goes_left(int a_bin) const { return by_levels ? levels.has(a_bin) : a_bin <= bin; }
};

// A node whose best split on a feature is sought.
struct Sought {
  const Rules& rules;
  const Extras& extras;
  const Sums& sums;
  const Limits& limits;
  int monotonic = 0;    // of the feature
  uint32_t random = 0;  // of node and feature
  Kind kind = Kind::kNumber;
};

// The value of a leaf with these sums (real units).
inline f64x4 leaf_value(f64x4 g, f64x4 h, f64x4 count, const Rules& rules, const Extras& extras, const Limits& limits) {
  const f64x4 shrunk = max4(abs4(g) - extras.l1, splat(0.0));
  const f64x4 denominator = h + rules.l2;
  const i64x4 any = denominator > 0.0;
  f64x4 value = select(any, select(g < 0.0, shrunk, -shrunk) / select(any, denominator, splat(1.0)), splat(0.0));
  value = min4(max4(value, splat(-extras.max_step)), splat(extras.max_step));
  if (extras.smooth > 0) {
    const f64x4 k = count / extras.smooth;
    value = (value * k + limits.anchor) / (k + 1.0);
  }
  return min4(max4(value, splat(limits.lower)), splat(limits.upper));
}

// What a leaf with these sums and this value takes off the loss, doubled.
inline f64x4 leaf_score(f64x4 g, f64x4 h, f64x4 value, const Rules& rules, const Extras& extras) {
  return -(2.0 * g * value + (h + rules.l2) * value * value + 2.0 * extras.l1 * abs4(value));
}

inline constexpr double kRelativeGain = 1e-12;  // a smaller share of the children's score is rounding, not gain
inline constexpr int kFewRows = 128;            // a node of at most so many rows is searched row by row: most bins are empty

// The sums of the rows that go left, for each candidate threshold of a feature in ascending order (of its levels: for each candidate set).
struct Candidates {
  int n = 0;
  alignas(32) int64_t g[260], h[260], count[260];
  int32_t bin[260];
};

// Whole numbers below 2^51 as doubles.
inline f64x4 to_double(i64x4 v) { return (f64x4)(v + (i64x4)splat(kRound)) - kRound; }
inline f64x4 to_double(const int64_t* p) {
  i64x4 v;
  std::memcpy(&v, p, sizeof v);
  return to_double(v);
}

// Keeps the best of a feature's candidates if it beats `best`. A tie goes to the lower bin, and to missing values on the right.
//   missing  sums of the rows whose value is missing
//   more_l2  for the children
template <bool kShaped>  // whether leaf values are shaped by Extras
inline void choose_of(Candidates& c, const Sums& missing, const Sought& sought, double more_l2, Split& best) {
  Rules rules = sought.rules;
  const Extras& extras = sought.extras;
  const Sums& node = sought.sums;
  for (int b = c.n; b < c.n + 4; ++b) c.g[b] = c.h[b] = 0, c.count[b] = -(int64_t(1) << 50);  // never enough rows
  const double unit = rules.hessian_unit, gradient_unit = kShaped ? rules.gradient_unit : 1.0;
  const double total_h = double(node.h) * unit, total_g = double(node.g) * gradient_unit;
  const double parent = kShaped ? leaf_score(splat(total_g), splat(total_h), splat(sought.limits.value), rules, extras)[0]
                                : total_g * total_g / (total_h + rules.l2);
  const double floor = rules.min_gain + (rules.noise > 0 ? rules.noise * double(node.count) / total_h : 0.0);
  const f64x4 node_g = splat(total_g), node_h = splat(total_h), node_count = splat(double(node.count));
  const f64x4 min_count = splat(double(rules.min_count)), min_hessian = splat(rules.min_hessian);
  rules.l2 += more_l2;
  const double none = kShaped ? -Extras::kNoLimit : -1.0;  // the score of no split
  for (int direction = 0; direction <= int(missing.count > 0); ++direction) {
    const Sums shift = direction ? missing : Sums{};
    const f64x4 add_g = splat(double(shift.g)), add_h = splat(double(shift.h)), add_count = splat(double(shift.count));
    // Where left and right have rows enough: counts ascend, but for sets of levels.
    int first = 0, end = c.n;
    while (first < end && c.count[first] + shift.count < rules.min_count) ++first;
    while (end > first && node.count - c.count[end - 1] - shift.count < rules.min_count) --end;
    if (extras.extra && end > first) {
      first += int(sought.random % uint32_t(end - first));
      end = first + 1;
    }
    const f64x4 limit = splat(double(end));
    f64x4 top = splat(none), where = splat(0.0), index = splat(double(first)) + f64x4{0, 1, 2, 3};
    for (int b = first; b < end; b += 4, index += 4.0) {
      f64x4 lg = to_double(c.g + b) + add_g;
      const f64x4 lh = (to_double(c.h + b) + add_h) * unit, lc = to_double(c.count + b) + add_count;
      if constexpr (kShaped) lg *= gradient_unit;
      const f64x4 rg = node_g - lg, rh = node_h - lh, rc = node_count - lc;
      const f64x4 lden = lh + rules.l2, rden = rh + rules.l2;
      i64x4 valid = (lc >= min_count) & (rc >= min_count) & (lh >= min_hessian) & (rh >= min_hessian) & (lden * rden > 0.0);
      if (extras.extra) valid &= index < limit;
      f64x4 score;
      if constexpr (kShaped) {
        const f64x4 left = leaf_value(lg, lh, lc, rules, extras, sought.limits);
        const f64x4 right = leaf_value(rg, rh, rc, rules, extras, sought.limits);
        score = leaf_score(lg, lh, left, rules, extras) + leaf_score(rg, rh, right, rules, extras);
        if (sought.monotonic > 0) valid &= left <= right;
        if (sought.monotonic < 0) valid &= left >= right;
      } else {
        score = (lg * lg * rden + rg * rg * lden) / (lden * rden);
      }
      const i64x4 better = valid & (score > top);
      top = select(better, score, top);
      where = select(better, index, where);
    }
    int lane = 0;
    for (int k = 1; k < 4; ++k) {
      if (top[k] > top[lane] || (top[k] == top[lane] && where[k] < where[lane])) lane = k;
    }
    if (top[lane] <= none) continue;
    const double difference = top[lane] - parent;
    const double gain = kShaped ? difference / gradient_unit / gradient_unit : difference;
    const double rounding = kShaped ? kRelativeGain * (std::fabs(top[lane]) + std::fabs(parent)) : kRelativeGain * top[lane];
    if (!(gain > floor) || !(difference > rounding) || !(gain > best.gain)) continue;
    const int b = int(where[lane]);
    best.gain = gain;
    best.bin = c.bin[b];
    best.missing_left = direction == 1;
    best.any_missing = missing.count > 0;
    best.left = {c.g[b] + shift.g, c.h[b] + shift.h, c.count[b] + shift.count};
  }
}

// The levels of a category in a node: each one's own sums, of bins summed up.
struct LevelSums {
  int n = 0;
  Sums of[257];
  int32_t code[257];

  explicit LevelSums(const Candidates& c) {
    Sums before;
    for (; n < c.n; ++n) {
      of[n] = {c.g[n] - before.g, c.h[n] - before.h, c.count[n] - before.count};
      before = {c.g[n], c.h[n], c.count[n]};
      code[n] = c.bin[n];
    }
  }
};

// Replaces a node's bins, summed up, by the sets of levels that are tried.
inline void arrange(const LevelOrder& order, const LevelSums& levels, Candidates& c) {
  Sums left[257];
  order.sum_left(levels.of, levels.code, levels.n, left);
  c.n = order.n_candidates();
  for (int i = 0; i < c.n; ++i) c.g[i] = left[i].g, c.h[i] = left[i].h, c.count[i] = left[i].count, c.bin[i] = i;
}

inline void choose(Candidates& c, const Sums& missing, const Sought& sought, Split& best) {
  auto take_best = [&](double more_l2) {
    sought.extras.shape_values() ? choose_of<true>(c, missing, sought, more_l2, best) : choose_of<false>(c, missing, sought, more_l2, best);
  };
  if (sought.kind == Kind::kNumber) return take_best(0);
  const CategoryRules& rules = sought.extras.categories;
  const LevelSums levels(c);
  const LevelOrder order(levels.of, levels.code, levels.n, sought.kind, rules, sought.rules.hessian_unit, missing.count > 0);
  arrange(order, levels, c);
  const double before = best.gain;
  take_best(order.sorted() ? rules.l2 : 0);
  if (!(best.gain > before)) return;
  best.levels = order.levels(best.bin, 2 * best.left.count > sought.sums.count);
  best.by_levels = true;
  best.bin = 0;
}

// What the splits of a feature take off the loss of several nodes together, by bin and by the side of missing values.
struct JointScores {
  double score[2][260] = {};
  double parents = 0, floor = 0;
  bool any_missing = false;
};

// Adds a node. Where a split would break a rule, the node stays as it is.
template <bool kShaped>  // whether leaf values are shaped by Extras
inline void add_joint_of(Candidates& c, const Sums& missing, const Sought& sought, double more_l2, JointScores& joint) {
  Rules rules = sought.rules;
  const Extras& extras = sought.extras;
  const Sums& node = sought.sums;
  for (int b = c.n; b < c.n + 4; ++b) c.g[b] = c.h[b] = c.count[b] = 0;
  const double unit = rules.hessian_unit, gradient_unit = kShaped ? rules.gradient_unit : 1.0;
  const double total_h = double(node.h) * unit, total_g = double(node.g) * gradient_unit;
  const double parent = kShaped ? leaf_score(splat(total_g), splat(total_h), splat(sought.limits.value), rules, extras)[0]
                                : total_g * total_g / (total_h + rules.l2);
  joint.parents += parent;
  if (rules.noise > 0) joint.floor += rules.noise * double(node.count) / total_h;
  joint.any_missing |= missing.count > 0;
  const f64x4 node_g = splat(total_g), node_h = splat(total_h), node_count = splat(double(node.count));
  const f64x4 min_count = splat(double(rules.min_count)), min_hessian = splat(rules.min_hessian);
  rules.l2 += more_l2;
  for (int direction = 0; direction <= int(missing.count > 0); ++direction) {
    const Sums shift = direction ? missing : Sums{};
    const f64x4 add_g = splat(double(shift.g)), add_h = splat(double(shift.h)), add_count = splat(double(shift.count));
    for (int b = 0; b < c.n; b += 4) {
      const f64x4 lg = (to_double(c.g + b) + add_g) * gradient_unit, lh = (to_double(c.h + b) + add_h) * unit;
      const f64x4 lc = to_double(c.count + b) + add_count, rg = node_g - lg, rh = node_h - lh, rc = node_count - lc;
      const f64x4 lden = lh + rules.l2, rden = rh + rules.l2;
      const i64x4 valid = (lc >= min_count) & (rc >= min_count) & (lh >= min_hessian) & (rh >= min_hessian) & (lden * rden > 0.0);
      f64x4 score;
      if constexpr (kShaped) {
        const f64x4 left = leaf_value(lg, lh, lc, rules, extras, sought.limits);
        const f64x4 right = leaf_value(rg, rh, rc, rules, extras, sought.limits);
        score = leaf_score(lg, lh, left, rules, extras) + leaf_score(rg, rh, right, rules, extras);
        const f64x4 wrong = splat(-Extras::kNoLimit);
        if (sought.monotonic > 0) score = select(left > right, wrong, score);
        if (sought.monotonic < 0) score = select(left < right, wrong, score);
      } else {
        score = (lg * lg * rden + rg * rg * lden) / (lden * rden);
      }
      score = select(valid, score, splat(parent));
      for (int d = direction; d <= (missing.count > 0 ? direction : 1); ++d) {  // none missing: the side of missing values is all one
        double* to = joint.score[d] + b;
        f64x4 sum;
        std::memcpy(&sum, to, sizeof sum);
        sum += score;
        std::memcpy(to, &sum, sizeof sum);
      }
    }
  }
}

inline void add_joint(Candidates& c, const Sums& missing, const Sought& sought, double more_l2, JointScores& joint) {
  sought.extras.shape_values() ? add_joint_of<true>(c, missing, sought, more_l2, joint)
                               : add_joint_of<false>(c, missing, sought, more_l2, joint);
}

// The best of them. A tie goes to the lower bin, and to missing values on the right.
inline void choose_joint(const JointScores& joint, int n, const Sought& sought, Split& best) {
  const double unit = sought.extras.shape_values() ? sought.rules.gradient_unit : 1.0;
  int first = 0, end = n;
  if (sought.extras.extra && n > 1) {
    first = int(sought.random % uint32_t(n - 1));
    end = first + 1;
  }
  for (int direction = 0; direction <= int(joint.any_missing); ++direction) {
    for (int b = first; b < end; ++b) {
      const double top = joint.score[direction][b], difference = top - joint.parents, gain = difference / unit / unit;
      if (!(gain > sought.rules.min_gain + joint.floor) || !(difference > kRelativeGain * std::fabs(top)) || !(gain > best.gain)) continue;
      best.gain = gain;
      best.bin = b;
      best.missing_left = direction == 1;
      best.any_missing = joint.any_missing;
    }
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

// Sums the bins of a feature from the lowest up to each; returns the sums of the missing one.
//   cells  of the feature's stored bins   IN
inline Sums sum_bins(const int64_t* cells, const Bins& bins, const Format& format, const Sums& node, Candidates& c) {
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
  return missing;
}

// The rows of a node that are not in a feature's common bin.
inline int64_t count_stored(const int64_t* cells, const Bins& bins, const Format& format) {
  const int words = format.words();
  int64_t sum = 0;
  for (int i = 0; i < bins.place.n_stored; ++i) sum += cells[i * words + words - 1];
  return sum & format.count_mask();
}

// A feature of two bins has one split: the same operations as in choose_of, without its preparations.
//   first  sums of the lower bin
inline void scan_two(const Sums& first, const Sought& sought, Split& best) {
  const Rules& rules = sought.rules;
  const Sums& node = sought.sums;
  if (first.count < rules.min_count || node.count - first.count < rules.min_count) return;
  const double total_g = double(node.g), total_h = double(node.h) * rules.hessian_unit;
  const double lg = double(first.g), lh = double(first.h) * rules.hessian_unit, rg = total_g - lg, rh = total_h - lh;
  const double lden = lh + rules.l2, rden = rh + rules.l2;
  if (!(lh >= rules.min_hessian && rh >= rules.min_hessian && lden * rden > 0.0)) return;
  const double score = (lg * lg * rden + rg * rg * lden) / (lden * rden);
  const double gain = score - total_g * total_g / (total_h + rules.l2);
  const double floor = rules.min_gain + (rules.noise > 0 ? rules.noise * double(node.count) / total_h : 0.0);
  if (!(gain > floor) || !(gain > kRelativeGain * score) || !(gain > best.gain)) return;
  best.gain = gain;
  best.bin = 0;
  best.missing_left = best.any_missing = false;
  best.left = first;
}

// The best split of a node on one feature, from its histogram.
inline void scan_bins(const int64_t* cells, const Bins& bins, const Format& format, const Sought& sought, Split& best) {
  // One side of any split has none of the rows in the common bin.
  const int common = bins.place.common;
  if (common != kNoCommon && count_stored(cells, bins, format) < sought.rules.min_count) return;
  if (bins.n == 2 && !bins.missing && (common == 0 || common == 1) && sought.kind == Kind::kNumber && !sought.extras.shape_values()) {
    const bool single = format.mode == Mode::kSingle;
    const int64_t word = cells[single ? 0 : 1], count = word & format.count_mask(), rest = word >> format.count_bits;
    const Sums stored = single ? Sums{rest, count, count} : Sums{cells[0], rest, count};
    const Sums& node = sought.sums;
    return scan_two(common == 1 ? stored : Sums{node.g - stored.g, node.h - stored.h, node.count - stored.count}, sought, best);
  }
  Candidates c;
  const Sums missing = sum_bins(cells, bins, format, sought.sums, c);
  choose(c, missing, sought, best);
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
inline void scan_few(const FewCells& cells, int first, const Bins& bins, const Format& format, const Sought& sought, Split& best) {
  const Sums& node = sought.sums;
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
    if (node.count - (rest_word & mask) < sought.rules.min_count) return;  // see scan_bins
    cells.visit(first, first + common, [&](int code, int64_t bin_g, int64_t bin_word) { take(code - first, bin_g, bin_word); });
    if (rest_word & mask) take(common, rest_g, rest_word);
    cells.visit(first + common, end, [&](int code, int64_t bin_g, int64_t bin_word) { take(code - first + 1, bin_g, bin_word); });
  }
  choose(c, missing, sought, best);
}

// The other child: parent - child, in place of the parent.
inline void subtract_words(int64_t* parent, const int64_t* child, int64_t n) {
  for (int64_t i = 0; i < n; ++i) parent[i] -= child[i];
}

}  // namespace sapwood
