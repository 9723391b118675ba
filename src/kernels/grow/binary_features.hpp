// The best split among many binary features, four features at a time. A feature of two bins has one split in a node, and the sums of one
// bin determine it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bins/layout.hpp"
#include "core/fixed.hpp"
#include "core/simd.hpp"
#include "grow/splits.hpp"

namespace sapwood {

// The cells of a histogram that hold one side of a binary feature's split each.
class BinaryFeatureScan {
  static constexpr int32_t kNoFeature = -1;

 public:
  BinaryFeatureScan() = default;
  BinaryFeatureScan(const BinLayout& layout, const TreeConstraints& constraints) : run_end_(size_t(layout.n_units())) {
    const int n_units = layout.n_units();
    for (int unit = 0; unit < n_units; ++unit) {
      const uint32_t* members = layout.columns.members.data();
      const uint32_t *first = members + layout.member_begin[unit], *last = members + layout.member_begin[unit + 1];
      auto is_binary = [&](uint32_t f) {
        return layout.n_bins[f] <= 2 && !layout.missing[f] && layout.columns.features[f].default_bin <= 1 &&
               constraints.kind(int(f)) == Kind::kNumber;
      };
      run_end_[unit] = std::all_of(first, last, is_binary) ? unit + 1 : unit;
      if (run_end_[unit] == unit) continue;
      feature_.resize(size_t(layout.n_cells) + 4, kNoFeature);
      upper_.resize(size_t(layout.n_cells) + 4, 0);
      for (const uint32_t* f = first; f < last; ++f) {
        if (layout.n_bins[*f] < 2) continue;  // nothing to split
        feature_[layout.cell(int(*f))] = int32_t(*f);
        upper_[layout.cell(int(*f))] = layout.columns.features[*f].default_bin == 0 ? -1 : 0;
      }
    }
    for (int unit = n_units - 2; unit >= 0; --unit) {
      if (run_end_[unit] > unit) run_end_[unit] = std::max(unit + 1, run_end_[unit + 1]);
    }
  }

  // The end of the units from this one on whose features are all binary.
  int run_end(int unit) const { return run_end_[unit]; }
  bool all() const { return !run_end_.empty() && run_end_[0] == int(run_end_.size()); }

  // The feature among the cells [first, last) whose split gains most, or -1; a tie goes to the lower one. The same operations as in
  // scan_two.
  int best(const int64_t* cells, int64_t first, int64_t last, const HistogramFormat& format, const SplitRules& rules,
           const Sums& node) const {
    return format.gradients == GradientFormat::kSingle ? best_of<true>(cells, first, last, format, rules, node)
                                                       : best_of<false>(cells, first, last, format, rules, node);
  }

 private:
  template <bool kSingle>
  int best_of(const int64_t* cells, int64_t first, int64_t last, const HistogramFormat& format, const SplitRules& rules,
              const Sums& node) const {
    const double total_g = double(node.g), total_h = double(node.h) * rules.hessian_unit;
    const double parent = total_g * total_g / (total_h + rules.l2);
    const double floor = rules.min_gain + (rules.noise > 0 ? rules.noise * double(node.count) / total_h : 0.0);
    const int64_t mask = format.count_mask();
    f64x4 top = splat(floor), who = splat(double(kNoFeature));
    i64x4 at = i64x4{0, 1, 2, 3} + first;
    for (int64_t c = first; c < last; c += 4, at += 4) {
      i64x4 g, h, count;
      if constexpr (kSingle) {
        const i64x4 word = load(cells + c);
        count = h = word & mask;
        g = word >> format.count_bits;
      } else {
        const i64x4 a = load(cells + 2 * c), b = load(cells + 2 * c + 4);
        g = i64x4{a[0], a[2], b[0], b[2]};
        const i64x4 word{a[1], a[3], b[1], b[3]};
        count = word & mask;
        h = word >> format.count_bits;
      }
      const i64x4 upper = __builtin_convertvector(load(upper_.data() + c), i64x4);
      g = (upper & (i64x4)(uint64_t(node.g) - (u64x4)g)) | (~upper & g);  // unsigned: lanes from `last` on may hold anything
      h = (upper & (node.h - h)) | (~upper & h);
      const f64x4 feature = __builtin_convertvector(load(feature_.data() + c), f64x4);
      const f64x4 lg = to_double(g), lh = to_double(h) * rules.hessian_unit, rg = total_g - lg, rh = total_h - lh;
      const f64x4 lden = lh + rules.l2, rden = rh + rules.l2;
      const i64x4 valid = (count >= rules.min_count) & (node.count - count >= rules.min_count) & (lh >= rules.min_hessian) &
                          (rh >= rules.min_hessian) & (lden * rden > 0.0) & (feature >= 0.0) & (at < last);
      const f64x4 score = (lg * lg * rden + rg * rg * lden) / (lden * rden), gain = score - parent;
      const i64x4 better = valid & (gain > kRelativeGain * score) & ((gain > top) | ((gain == top) & (feature < who)));
      top = select(better, gain, top);
      who = select(better, feature, who);
    }
    int lane = -1;
    for (int k = 0; k < 4; ++k) {
      if (who[k] >= 0 && (lane < 0 || top[k] > top[lane] || (top[k] == top[lane] && who[k] < who[lane]))) lane = k;
    }
    return lane < 0 ? -1 : int(who[lane]);
  }

  static i64x4 load(const int64_t* p) {
    i64x4 v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static i32x4 load(const int32_t* p) {
    i32x4 v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }

  std::vector<int32_t> feature_;  // of each cell, or kNoFeature
  std::vector<int32_t> upper_;    // of each cell: -1 where it is the upper bin, so that the others go left
  std::vector<int> run_end_;      // (n_units,)
};

}  // namespace sapwood
