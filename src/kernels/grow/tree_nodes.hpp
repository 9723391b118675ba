// The nodes of a growing tree, and the rules that their splits and values keep.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/fixed.hpp"
#include "grow/rules.hpp"

namespace sapwood {

struct Node {
  int32_t parent = -1, left = -1, right = -1, depth = 0;
  Sums sums;  // in histogram units
  Split split;
  Limits limits;
};

// A tie goes to the lower feature.
inline bool better(const Split& a, const Split& b) { return a.score > b.score || (a.score == b.score && a.feature < b.feature); }

class TreeNodes {
 public:
  // Constraints of all trees to come.
  void constrain(TreeConstraints constraints) { constraints_ = std::move(constraints); }
  // Begins a tree: a root without sums.
  void start(const TreeSettings& settings);
  // The sums of the root, and its value.
  void set_root_sums(const Sums& sums);

  bool can_split(const Node& node) const { return node.sums.count >= 2 * rules_.min_count && (max_depth_ <= 0 || node.depth < max_depth_); }
  SearchContext context(int node, uint32_t feature) const;
  // Whether features are compared by their gains alone.
  bool compares_gains() const { return constraints_.weights.empty() && constraints_.score_noise == 0; }
  // Makes a feature's best split of a node the best of all if it is better than `top`.
  void compare(Split& split, int node, Split& top) const;
  // Makes room for the children of n nodes; returns the first of the new nodes.
  int add_children(size_t n);
  // Makes the nodes first and first + 1 the children of a node that has a split.
  void make_children(int node, int first);
  // Sets the best split of a node.
  void set_split(int node, const Split& split);
  // Sets a split that was not searched for. Its gain is positive. False, and no change, if a child would be empty.
  //   all  sums of the node
  bool force_split(int node, const Split& split, const Sums& all);
  // Sets the bounds of a node's value, which must be within them.
  void set_limits(int node, double lower, double upper) {
    nodes_[node].limits.lower = lower;
    nodes_[node].limits.upper = upper;
  }

  size_t size() const { return nodes_.size(); }
  Node& operator[](int node) { return nodes_[node]; }
  const Node& operator[](int node) const { return nodes_[node]; }
  const std::vector<Node>& all() const { return nodes_; }
  const SplitRules& rules() const { return rules_; }
  const TreeConstraints& constraints() const { return constraints_; }

 private:
  Limits with_value(Limits limits, const Sums& sums) const;
  void limit_children(const Node& node, Node& left, Node& right) const;
  bool ignores_split(const Node& node, const Node& left, const Node& right) const;
  uint32_t random_of(int node, uint32_t feature, uint32_t which) const;
  double normal_of(int node, uint32_t feature) const;

  SplitRules rules_;
  TreeConstraints constraints_;
  uint64_t key_ = 0;
  int max_depth_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace sapwood
