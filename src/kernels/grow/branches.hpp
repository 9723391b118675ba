// Branches of a symmetric tree: nodes whose rows stay together, because a split is ignored where it would leave too few rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/fixed.hpp"

namespace sapwood {

// Rows and hessian that a leaf must have. Fixed-point hessians are divided by hessian_scale.
struct LeafMinimum {
  int64_t rows;
  double hessian, hessian_scale;

  bool allows(const Sums& sums) const { return sums.count >= rows && double(sums.h) / hessian_scale >= hessian; }
};

// A binary tree, the root first: a branch comes after the one above it. Sums are exact, of gradients and hessians in fixed point.
//   level        that divides a branch; -1 where it ends
//   left, right  branches below; -1 where it ends
//   of_leaf      branch of each leaf of the tree
struct Branches {
  std::vector<int64_t> level{-1}, left{-1}, right{-1};
  std::vector<Sums> sums{1};
  std::vector<int64_t> of_leaf;

  int64_t add(const Sums& own) {
    level.push_back(-1), left.push_back(-1), right.push_back(-1), sums.push_back(own);
    return int64_t(sums.size()) - 1;
  }
};

// The branches of a symmetric tree with the sums of its 2^n_levels leaves, from left to right. A branch is divided by a level if both
// sides may be leaves; otherwise all its rows go on to the next level together.
inline Branches divide_levels(const std::vector<Sums>& leaves, int n_levels, const LeafMinimum& minimum) {
  Branches out;
  for (const Sums& leaf : leaves) out.sums[0] += leaf;
  std::vector<int64_t> ends(1, 0), below;             // branches that are not divided yet, in order; those of the next level
  std::vector<int64_t> end_of(leaves.size(), 0), to;  // position of each leaf among the ends; of the left side of each end among the next
  std::vector<Sums> halves;
  for (int level = 0; level < n_levels; ++level) {
    auto side = [&](size_t leaf) { return leaf >> (n_levels - level - 1) & 1; };
    halves.assign(2 * ends.size(), {});
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) halves[2 * end_of[leaf] + side(leaf)] += leaves[leaf];
    auto is_divided = [&](size_t e) { return minimum.allows(halves[2 * e]) && minimum.allows(halves[2 * e + 1]); };
    below.clear(), to.assign(ends.size(), -1);
    for (size_t e = 0; e < ends.size(); ++e) {
      if (!is_divided(e)) to[e] = int64_t(below.size()), below.push_back(ends[e]);
    }
    const int64_t n_kept = int64_t(below.size());
    for (size_t e = 0; e < ends.size(); ++e) {
      if (to[e] >= 0) continue;
      const int64_t left = out.add(halves[2 * e]), right = out.add(halves[2 * e + 1]);
      out.level[ends[e]] = level, out.left[ends[e]] = left, out.right[ends[e]] = right;
      to[e] = int64_t(below.size()), below.push_back(left), below.push_back(right);
    }
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      int64_t& end = end_of[leaf];
      end = to[end] + (to[end] >= n_kept ? int64_t(side(leaf)) : 0);
    }
    ends.swap(below);
  }
  for (int64_t end : end_of) out.of_leaf.push_back(ends[end]);
  return out;
}

}  // namespace sapwood
