// The nodes of a growing tree, and what every way of finding splits needs to know about them.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/fixed.hpp"
#include "grow/splits.hpp"

namespace sapwood {

struct Node {
  int32_t parent = -1, left = -1, right = -1, depth = 0;
  int buffer = 0;      // which of the two row buffers holds its rows
  int histogram = -1;  // its slot, or -1
  Sums sums;           // in histogram units
  Split split;
  Limits limits;
};

inline bool better(const Split& a, const Split& b) { return a.score > b.score || (a.score == b.score && a.feature < b.feature); }

class GrowingTree {
 public:
  // Rules for all trees to come.
  void constrain(Extras extras) { extras_ = std::move(extras); }
  const std::vector<Node>& nodes() const { return nodes_; }
  // Sets the bounds of a node's value, which must be within them.
  void set_limits(int node, double lower, double upper) {
    nodes_[node].limits.lower = lower;
    nodes_[node].limits.upper = upper;
  }

 protected:
  bool can_split(const Node& node) const;
  Limits with_value(Limits limits, const Sums& sums) const;
  void limit_children(const Node& node, Node& left, Node& right) const;
  Sought sought(int node, uint32_t feature) const;
  void compare(Split& split, int node, Split& top) const;
  uint32_t random_of(int node, uint32_t feature, uint32_t which) const;
  double normal_of(int node, uint32_t feature) const;
  // Makes the children of a node that has a split; they are the nodes first and first + 1.
  void make_children(int node, int first);
  // The gain of a split that was told, not found: never nothing.
  void set_forced_gain(int node);
  // The best split of a node becomes its own.
  void take_split(int node, const Split& split);

  Rules rules_;
  Extras extras_;
  uint64_t key_ = 0;
  int max_depth_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace sapwood
