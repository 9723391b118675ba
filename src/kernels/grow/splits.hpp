// The best split of a node on one feature, from its histogram or, if it has few rows, from the rows.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "bins/layout.hpp"
#include "core/fixed.hpp"
#include "core/simd.hpp"
#include "grow/rules.hpp"
#include "grow/thresholds.hpp"

namespace sapwood {

inline constexpr int kFewRows = 128;  // a node of at most so many rows is small: most of its bins are empty

// The sums of the rows that go left, for each candidate threshold of a feature in ascending order (of its levels: for each candidate set).
struct Candidates {
  int n = 0;
  alignas(32) int64_t g[260], h[260], count[260];
  int32_t bin[260];
};

inline f64x4 to_double(const int64_t* p) {
  i64x4 v;
  std::memcpy(&v, p, sizeof v);
  return to_double(v);
}

// Keeps the best of a feature's candidates if it beats `best`. A tie goes to the lower bin, and to missing values on the right.
//   missing  sums of the rows whose value is missing
//   more_l2  for the children
template <bool kShaped>  // whether constraints shape leaf values
inline void choose_of(Candidates& c, const Sums& missing, const SearchContext& context, double more_l2, Split& best) {
  SplitRules rules = context.rules;
  const TreeConstraints& constraints = context.constraints;
  const Sums& node = context.sums;
  for (int b = c.n; b < c.n + 4; ++b) c.g[b] = c.h[b] = 0, c.count[b] = -(int64_t(1) << 50);  // never enough rows
  const double unit = rules.hessian_unit, gradient_unit = kShaped ? rules.gradient_unit : 1.0;
  const double total_h = double(node.h) * unit, total_g = double(node.g) * gradient_unit;
  const double parent = kShaped ? leaf_score(splat(total_g), splat(total_h), splat(context.limits.value), rules, constraints)[0]
                                : total_g * total_g / (total_h + rules.l2);
  const double floor = rules.min_gain + (rules.noise > 0 ? rules.noise * double(node.count) / total_h : 0.0);
  const f64x4 node_g = splat(total_g), node_h = splat(total_h), node_count = splat(double(node.count));
  const f64x4 min_count = splat(double(rules.min_count)), min_hessian = splat(rules.min_hessian);
  rules.l2 += more_l2;
  const double none = kShaped ? -TreeConstraints::kNoLimit : -1.0;  // the score of no split
  for (int direction = 0; direction <= int(missing.count > 0); ++direction) {
    const Sums shift = direction ? missing : Sums{};
    const f64x4 add_g = splat(double(shift.g)), add_h = splat(double(shift.h)), add_count = splat(double(shift.count));
    // Where left and right have rows enough: counts ascend, but for sets of levels.
    int first = 0, end = c.n;
    while (first < end && c.count[first] + shift.count < rules.min_count) ++first;
    while (end > first && node.count - c.count[end - 1] - shift.count < rules.min_count) --end;
    if (rules.extra && end > first) {
      first += int(context.random % uint32_t(end - first));
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
      if (rules.extra) valid &= index < limit;
      f64x4 score;
      if constexpr (kShaped) {
        const f64x4 left = leaf_value(lg, lh, lc, rules, constraints, context.limits);
        const f64x4 right = leaf_value(rg, rh, rc, rules, constraints, context.limits);
        score = leaf_score(lg, lh, left, rules, constraints) + leaf_score(rg, rh, right, rules, constraints);
        if (context.monotonic > 0) valid &= left <= right;
        if (context.monotonic < 0) valid &= left >= right;
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

// The sums of each level of a category in a node, from cumulative sums.
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

// Replaces the cumulative sums of a node's bins by those of the sets of levels that are tried.
inline void arrange(const LevelOrder& order, const LevelSums& levels, Candidates& c) {
  Sums left[257];
  order.sum_left(levels.of, levels.code, levels.n, left);
  c.n = order.n_candidates();
  for (int i = 0; i < c.n; ++i) c.g[i] = left[i].g, c.h[i] = left[i].h, c.count[i] = left[i].count, c.bin[i] = i;
}

inline void choose(Candidates& c, const Sums& missing, const SearchContext& context, Split& best) {
  auto take_best = [&](double more_l2) {
    context.constraints.shape_values() ? choose_of<true>(c, missing, context, more_l2, best)
                                       : choose_of<false>(c, missing, context, more_l2, best);
  };
  if (context.kind == Kind::kNumber) return take_best(0);
  const CategoryRules& rules = context.constraints.categories;
  const LevelSums levels(c);
  const LevelOrder order(levels.of, levels.code, levels.n, context.kind, rules, context.rules.hessian_unit, missing.count > 0);
  arrange(order, levels, c);
  const double before = best.gain;
  take_best(order.sorted() ? rules.l2 : 0);
  if (!(best.gain > before)) return;
  best.levels = order.levels(best.bin, 2 * best.left.count > context.sums.count);
  best.by_levels = true;
  best.bin = 0;
}

// Scores of a feature's splits summed over several nodes, by bin and by the side of missing values.
struct SymmetricScores {
  double score[2][260] = {};
  double parents = 0, floor = 0;
  bool any_missing = false;
};

// Adds a node. Where a split would break a rule, the node stays as it is.
template <bool kShaped>  // whether constraints shape leaf values
inline void add_symmetric_of(Candidates& c, const Sums& missing, const SearchContext& context, double more_l2, SymmetricScores& scores) {
  SplitRules rules = context.rules;
  const TreeConstraints& constraints = context.constraints;
  const Sums& node = context.sums;
  for (int b = c.n; b < c.n + 4; ++b) c.g[b] = c.h[b] = c.count[b] = 0;
  const double unit = rules.hessian_unit, gradient_unit = kShaped ? rules.gradient_unit : 1.0;
  const double total_h = double(node.h) * unit, total_g = double(node.g) * gradient_unit;
  const double parent = kShaped ? leaf_score(splat(total_g), splat(total_h), splat(context.limits.value), rules, constraints)[0]
                                : total_g * total_g / (total_h + rules.l2);
  scores.parents += parent;
  if (rules.noise > 0) scores.floor += rules.noise * double(node.count) / total_h;
  scores.any_missing |= missing.count > 0;
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
        const f64x4 left = leaf_value(lg, lh, lc, rules, constraints, context.limits);
        const f64x4 right = leaf_value(rg, rh, rc, rules, constraints, context.limits);
        score = leaf_score(lg, lh, left, rules, constraints) + leaf_score(rg, rh, right, rules, constraints);
        const f64x4 wrong = splat(-TreeConstraints::kNoLimit);
        if (context.monotonic > 0) score = select(left > right, wrong, score);
        if (context.monotonic < 0) score = select(left < right, wrong, score);
      } else {
        score = (lg * lg * rden + rg * rg * lden) / (lden * rden);
      }
      score = select(valid, score, splat(parent));
      for (int d = direction; d <= (missing.count > 0 ? direction : 1); ++d) {  // none missing: both sides of missing values score the same
        double* to = scores.score[d] + b;
        f64x4 sum;
        std::memcpy(&sum, to, sizeof sum);
        sum += score;
        std::memcpy(to, &sum, sizeof sum);
      }
    }
  }
}

inline void add_symmetric(Candidates& c, const Sums& missing, const SearchContext& context, double more_l2, SymmetricScores& scores) {
  context.constraints.shape_values() ? add_symmetric_of<true>(c, missing, context, more_l2, scores)
                                     : add_symmetric_of<false>(c, missing, context, more_l2, scores);
}

// The best of them. A tie goes to the lower bin, and to missing values on the right.
inline void choose_symmetric(const SymmetricScores& scores, int n, const SearchContext& context, Split& best) {
  const double unit = context.constraints.shape_values() ? context.rules.gradient_unit : 1.0;
  int first = 0, end = n;
  if (context.rules.extra && n > 1) {
    first = int(context.random % uint32_t(n - 1));
    end = first + 1;
  }
  for (int direction = 0; direction <= int(scores.any_missing); ++direction) {
    for (int b = first; b < end; ++b) {
      const double top = scores.score[direction][b], difference = top - scores.parents, gain = difference / unit / unit;
      if (!(gain > context.rules.min_gain + scores.floor) || !(difference > kRelativeGain * std::fabs(top)) || !(gain > best.gain))
        continue;
      best.gain = gain;
      best.bin = b;
      best.missing_left = direction == 1;
      best.any_missing = scores.any_missing;
    }
  }
}

// The bins of a feature: n without the missing bin, which comes last if there is one.
struct Bins {
  FeatureStorage storage;
  int n;
  bool missing;
};

// Writes the cells of a feature that has a default bin in the order of bins; the default bin is what is left of the node.
template <int kWords>
inline void restore_default(const int64_t* cells, const Bins& bins, const int64_t* node, int64_t* out) {
  const int before = bins.storage.default_bin, n_stored = bins.storage.n_stored;
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

// The cells of a feature's bins in the order of bins.
//   cells     of the feature's stored bins                  IN
//   restored  memory for them, if there is a default bin
inline const int64_t* ordered_cells(const int64_t* cells, const Bins& bins, const HistogramFormat& format, const Sums& node,
                                    int64_t* restored) {
  if (bins.storage.default_bin == kNoDefault) return cells;
  if (format.gradients == GradientFormat::kSingle) {
    const int64_t whole = (node.g << format.count_bits) + node.count;
    restore_default<1>(cells, bins, &whole, restored);
  } else {
    const int64_t whole[2] = {node.g, (node.h << format.count_bits) + node.count};
    restore_default<2>(cells, bins, whole, restored);
  }
  return restored;
}

// The sums of a cell.
inline Sums cell_sums(const int64_t* cells, int i, const HistogramFormat& format) {
  const int words = format.words();
  const int64_t last = cells[words * i + words - 1], count = last & format.count_mask(), rest = last >> format.count_bits;
  return words == 1 ? Sums{rest, count, count} : Sums{cells[2 * i], rest, count};
}

// Cumulative sums of a feature's bins; returns the sums of the missing bin.
//   cells  of the feature's stored bins   IN
inline Sums sum_bins(const int64_t* cells, const Bins& bins, const HistogramFormat& format, const Sums& node, Candidates& c) {
  int64_t restored[2 * 257];
  cells = ordered_cells(cells, bins, format, node, restored);
  const int n = bins.n, bits = format.count_bits;
  const int64_t mask = format.count_mask();
  if (format.gradients == GradientFormat::kSingle) {
    int64_t sum = 0;
    for (int b = 0; b < n; ++b) {
      sum += cells[b];
      c.g[b] = sum >> bits;
      c.h[b] = c.count[b] = sum & mask;
    }
  } else {
    int64_t g = 0, word = 0;
    for (int b = 0; b < n; ++b) {
      g += cells[2 * b];
      word += cells[2 * b + 1];
      c.g[b] = g;
      c.h[b] = word >> bits;
      c.count[b] = word & mask;
    }
  }
  c.n = n;
  for (int b = 0; b < n; ++b) c.bin[b] = b;
  return bins.missing ? cell_sums(cells, n, format) : Sums{};
}

// The number of a node's rows that are not in a feature's default bin.
inline int64_t count_stored(const int64_t* cells, const Bins& bins, const HistogramFormat& format) {
  const int words = format.words();
  int64_t sum = 0;
  for (int i = 0; i < bins.storage.n_stored; ++i) sum += cells[i * words + words - 1];
  return sum & format.count_mask();
}

// A feature of two bins has one split: the same operations as in choose_of, without its preparations.
//   first  sums of the lower bin
inline void scan_two(const Sums& first, const SearchContext& context, Split& best) {
  const SplitRules& rules = context.rules;
  const Sums& node = context.sums;
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

// Whether the split of a feature is a threshold, chosen by the gain of unconstrained leaf values.
inline bool searches_thresholds(const SearchContext& context) {
  return context.kind == Kind::kNumber && !context.constraints.shape_values() && !context.rules.extra;
}

// The best split of a node on one feature, from its histogram.
inline void scan_bins(const int64_t* cells, const Bins& bins, const HistogramFormat& format, const SearchContext& context, Split& best) {
  // One side of any split has no row of the default bin.
  const int default_bin = bins.storage.default_bin;
  if (default_bin != kNoDefault && count_stored(cells, bins, format) < context.rules.min_count) return;
  const Sums& node = context.sums;
  if (searches_thresholds(context)) {
    if (bins.n == 2 && !bins.missing && (default_bin == 0 || default_bin == 1)) {
      const Sums stored = cell_sums(cells, 0, format);
      return scan_two(default_bin == 1 ? stored : Sums{node.g - stored.g, node.h - stored.h, node.count - stored.count}, context, best);
    }
    int64_t restored[2 * 257];
    const int64_t* ordered = ordered_cells(cells, bins, format, node, restored);
    const Sums missing = bins.missing ? cell_sums(ordered, bins.n, format) : Sums{};
    return format.words() == 1 ? choose_threshold<SingleSums>(ordered, bins.n, format.count_bits, missing, context, best)
                               : choose_threshold<PairSums>(ordered, bins.n, format.count_bits, missing, context, best);
  }
  Candidates c;
  const Sums missing = sum_bins(cells, bins, format, node, c);
  choose(c, missing, context, best);
}

// The same for a small node, as scan_few finds it: the candidates are the bins that have rows. Where a threshold is drawn at random, or
// missing values are monotonic, the bins without rows would make a difference.
inline void scan_present(const int64_t* cells, const Bins& bins, const HistogramFormat& format, const SearchContext& context, Split& best) {
  if (bins.storage.default_bin != kNoDefault && count_stored(cells, bins, format) < context.rules.min_count) return;
  Candidates c;
  const Sums missing = sum_bins(cells, bins, format, context.sums, c);
  int n = 0;
  int64_t before = 0;
  for (int b = 0; b < c.n; ++b) {
    if (c.count[b] == before) continue;
    before = c.count[n] = c.count[b];
    c.g[n] = c.g[b], c.h[n] = c.h[b], c.bin[n++] = b;
  }
  c.n = n;
  choose(c, missing, context, best);
}

// The rows of a small node: their codes, and the value that each adds to a bin.
struct FewRows {
  int n = 0;
  const uint8_t* codes[kFewRows];                       // of one group of columns
  const uint32_t *list[kFewRows], *list_end[kFewRows];  // of row lists
  int64_t g[kFewRows], word[kFewRows];                  // word: hessian << count_bits | 1
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
    visit_words(first, end, [&](int k, uint64_t left) {
      for (; left; left &= left - 1) {
        const int code = 64 * k + __builtin_ctzll(left);
        f(code, sums_[code][0], sums_[code][1]);
      }
    });
  }

  // The same, and clears them.
  template <class F>
  void take(int first, int end, F&& f) {
    visit_words(first, end, [&](int k, uint64_t left) {
      occupied_[k] &= ~left;
      for (; left; left &= left - 1) {
        const int code = 64 * k + __builtin_ctzll(left);
        f(code, sums_[code][0], sums_[code][1]);
        sums_[code][0] = sums_[code][1] = 0;
      }
    });
  }

  void clear() {
    take(0, 256, [](int, int64_t, int64_t) {});
  }

 private:
  template <class F>
  void visit_words(int first, int end, F&& f) const {
    for (int k = first >> 6; k < 4 && 64 * k < end; ++k) {
      uint64_t left = occupied_[k];
      if (first > 64 * k) left &= ~uint64_t(0) << (first - 64 * k);
      if (end < 64 * k + 64) left &= ~(~uint64_t(0) << (end - 64 * k));
      f(k, left);
    }
  }

  int64_t sums_[256][2] = {};
  uint64_t occupied_[4] = {};
};

// The same from the sums of a few rows, which are cleared: the candidates are the bins that have rows.
//   first  the code of the feature's first stored bin
inline void scan_few(FewCells& cells, int first, const Bins& bins, const HistogramFormat& format, const SearchContext& context,
                     Split& best) {
  const Sums& node = context.sums;
  const int64_t mask = format.count_mask();
  const int bits = format.count_bits, default_bin = bins.storage.default_bin, end = first + bins.storage.n_stored;
  Sums missing;
  int64_t g = 0, word = 0;
  // Calls f(bin, g, word) with the cumulative sums of each bin that has rows.
  auto sum = [&](auto&& f) {
    auto add = [&](int bin, int64_t bin_g, int64_t bin_word) {
      if (bins.missing && bin == bins.n) {
        missing = {bin_g, bin_word >> bits, bin_word & mask};
      } else {
        f(bin, g += bin_g, word += bin_word);
      }
    };
    if (default_bin == kNoDefault) {
      cells.take(first, end, [&](int code, int64_t bin_g, int64_t bin_word) { add(code - first, bin_g, bin_word); });
      return true;
    }
    int64_t rest_g = node.g, rest_word = (node.h << bits) + node.count;
    cells.visit(first, end, [&](int, int64_t bin_g, int64_t bin_word) { rest_g -= bin_g, rest_word -= bin_word; });
    if (node.count - (rest_word & mask) < context.rules.min_count) return false;  // see scan_bins
    cells.take(first, first + default_bin, [&](int code, int64_t bin_g, int64_t bin_word) { add(code - first, bin_g, bin_word); });
    if (rest_word & mask) add(default_bin, rest_g, rest_word);
    cells.take(first + default_bin, end, [&](int code, int64_t bin_g, int64_t bin_word) { add(code - first + 1, bin_g, bin_word); });
    return true;
  };
  if (!searches_thresholds(context)) {
    Candidates c;
    const bool any = sum([&](int bin, int64_t left_g, int64_t left_word) {
      c.g[c.n] = left_g, c.h[c.n] = left_word >> bits, c.count[c.n] = left_word & mask, c.bin[c.n++] = bin;
    });
    if (any) choose(c, missing, context, best);
    return;
  }
  int n = 0, bin_of[260];
  int64_t sums[2 * 264];
  const bool any = sum([&](int bin, int64_t left_g, int64_t left_word) {
    PairSums::write(sums, n, left_g, left_word);
    bin_of[n++] = bin;
  });
  if (!any) return;
  for (int i = n; i % 4; ++i) PairSums::write(sums, i, g, word);
  const ThresholdSearch search(context, missing);
  PairSums left(bits);
  bool found = search.choose(left, n, [&](int b) { left.read(sums + 2 * b, {}); }, sums, false, best);
  found |= search.choose_missing_left(left, n, sums, best);
  if (found) best.bin = bin_of[best.bin];
}

// The other child: parent - child, in storage of the parent.
inline void subtract_words(int64_t* parent, const int64_t* child, int64_t n) {
  for (int64_t i = 0; i < n; ++i) parent[i] -= child[i];
}

}  // namespace sapwood
