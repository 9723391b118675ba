// Rules of splits and leaf values, and the split of a node.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "core/fixed.hpp"
#include "core/simd.hpp"
#include "grow/levels.hpp"

namespace sapwood {

// Rules of one tree's splits, in the units of its histograms.
struct SplitRules {
  double l2 = 0;             // added to hessians (real units)
  double hessian_unit = 1;   // real value of one unit of a histogram's hessian
  double min_hessian = 0;    // of a child (real units)
  double min_gain = 0;       // in squared gradient units of the histogram
  double noise = 0;          // gain that rounding alone may show, times count / hessian
  int64_t min_count = 1;     // of a child
  double gradient_unit = 1;  // real value of one unit of a histogram's gradient
  bool extra = false;        // one random threshold for each feature
};

// Everything but gradients that one tree is grown by.
struct TreeSettings {
  HistogramFormat format;
  SplitRules rules;
  int max_depth = 0;  // 0: no limit
  uint64_t key = 0;   // of random numbers
};

// Constraints of all trees. Most trees have none. Real units.
struct TreeConstraints {
  double l1 = 0;                  // subtracted from the absolute value of gradient sums
  double max_step = kNoLimit;     // of a leaf's value
  double smooth = 0;              // number of rows that a parent's value counts for in its children's
  double score_noise = 0;         // relative noise of a feature's gain when features are compared
  bool symmetric = false;         // one split for all nodes of a level
  bool neighbours = false;        // monotonic values are bounded by their neighbours', not by the middle between them
  std::vector<double> weights;    // (n_features,) factors of gains when features are compared, or empty
  std::vector<int8_t> monotonic;  // (n_features,) 1: values must not fall as the feature rises; -1: must not rise; or empty
  std::vector<Kind> kinds;        // (n_features,), or empty if all features are numbers
  CategoryRules categories;
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  // Whether a leaf's value can differ from -G / (H + l2).
  bool shape_values() const { return l1 > 0 || max_step < kNoLimit || smooth > 0 || !monotonic.empty(); }
  Kind kind(int feature) const { return kinds.empty() ? Kind::kNumber : kinds[feature]; }
};

// Bounds of a node's value, and the value. Real units.
struct Limits {
  double lower = -TreeConstraints::kNoLimit, upper = TreeConstraints::kNoLimit;
  double anchor = 0;  // the parent's value
  double value = 0;
};

// A split: rows whose bin is at most `bin`, or one of `levels`, go left; those in the missing bin go left if `missing_left`.
struct Split {
  double gain = -1;
  double score = -1;  // the gain as it is compared with those of other features
  int32_t feature = -1;
  int32_t bin = 0;
  bool missing_left = false;
  bool any_missing = false;  // whether the feature is missing in any row of the node
  bool counted = true;       // whether `left` is known
  bool by_levels = false;
  Sums left;
  LevelSet levels;

  bool goes_left(int a_bin) const { return by_levels ? levels.has(a_bin) : a_bin <= bin; }
};

// Everything but the histogram that the search of a node on one feature depends on.
struct SearchContext {
  const SplitRules& rules;
  const TreeConstraints& constraints;
  const Sums& sums;  // of the node
  const Limits& limits;
  int monotonic = 0;    // of the feature
  uint32_t random = 0;  // of node and feature
  Kind kind = Kind::kNumber;
  double to_beat = -1;  // a gain: splits that gain less are of no interest

  // A score of both children that a split of interest exceeds: a bound that spares most thresholds a division.
  //   parent  the node's score
  //   floor   the least gain of a split
  double least_score(double parent, double floor) const { return (parent + (to_beat > floor ? to_beat : floor)) * kBelow; }
  static constexpr double kBelow = 1 - 1e-9;  // times a score: less by more than rounding
};

// The value of a leaf with these sums (real units).
inline f64x4 leaf_value(f64x4 g, f64x4 h, f64x4 count, const SplitRules& rules, const TreeConstraints& constraints, const Limits& limits) {
  const f64x4 shrunk = max4(abs4(g) - constraints.l1, splat(0.0));
  const f64x4 denominator = h + rules.l2;
  const i64x4 any = denominator > 0.0;
  f64x4 value = select(any, select(g < 0.0, shrunk, -shrunk) / select(any, denominator, splat(1.0)), splat(0.0));
  value = min4(max4(value, splat(-constraints.max_step)), splat(constraints.max_step));
  if (constraints.smooth > 0) {
    const f64x4 k = count / constraints.smooth;
    value = (value * k + limits.anchor) / (k + 1.0);
  }
  return min4(max4(value, splat(limits.lower)), splat(limits.upper));
}

// Twice the reduction of the loss by a leaf with these sums and this value.
inline f64x4 leaf_score(f64x4 g, f64x4 h, f64x4 value, const SplitRules& rules, const TreeConstraints& constraints) {
  return -(2.0 * g * value + (h + rules.l2) * value * value + 2.0 * constraints.l1 * abs4(value));
}

}  // namespace sapwood
