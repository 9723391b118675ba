// The nodes of a tree as arrays, and the methods of every type that has nodes.
#pragma once
#include <limits>

#include "bindings/owned_arguments.hpp"
#include "grow/tree_nodes.hpp"

namespace sapwood {

// A value of each node.
template <class F>
auto column(const std::vector<Node>& nodes, F&& of) {
  std::vector<decltype(of(nodes[0]))> values(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) values[i] = of(nodes[i]);
  return to_numpy(std::move(values));
}

// Columns of nodes that both a growing and a finished tree have.
struct TreeColumns {
  Array<int32_t> feature, bin, left, right;
  Array<uint8_t> missing_left, by_levels;
  Array<int64_t> count;
  Array<double> gain;

  // unit  real value of one unit of a histogram's gradient
  TreeColumns(const std::vector<Node>& nodes, double unit)
      : feature(column(nodes, [](const Node& n) { return n.left >= 0 ? n.split.feature : int32_t(-1); })),
        bin(column(nodes, [](const Node& n) { return n.left >= 0 ? n.split.bin : int32_t(0); })),
        left(column(nodes, [](const Node& n) { return n.left; })),
        right(column(nodes, [](const Node& n) { return n.right; })),
        missing_left(column(nodes, [](const Node& n) { return uint8_t(n.left >= 0 && n.split.missing_left); })),
        by_levels(column(nodes, [](const Node& n) { return uint8_t(n.left >= 0 && n.split.by_levels); })),
        count(column(nodes, [](const Node& n) { return n.sums.count; })),
        gain(column(nodes, [=](const Node& n) {
          // The square of a target may be too large.
          return n.left >= 0 ? std::min(n.split.gain * unit * unit, std::numeric_limits<double>::max()) : 0.0;
        })) {}
};

// A tree that is grown: its nodes in real units; numbers of leaves and of inner nodes; limits of the leaves.
struct GrownTree : TreeColumns {
  Array<int64_t> leaves, inner;
  Array<double> lower, upper, anchor;

  GrownTree(const std::vector<Node>& nodes, double unit) : TreeColumns(nodes, unit) {
    std::vector<int64_t> leaf, other;
    for (size_t i = 0; i < nodes.size(); ++i) (nodes[i].left < 0 ? leaf : other).push_back(int64_t(i));
    auto of_leaves = [&](auto of) {
      std::vector<double> values;
      for (int64_t i : leaf) values.push_back(of(nodes[i].limits));
      return to_numpy(std::move(values));
    };
    lower = of_leaves([](const Limits& l) { return l.lower; });
    upper = of_leaves([](const Limits& l) { return l.upper; });
    anchor = of_leaves([](const Limits& l) { return l.anchor; });
    leaves = to_numpy(std::move(leaf));
    inner = to_numpy(std::move(other));
  }
};

// The nodes of a growing tree, in the units of its histograms.
struct NodeColumns : TreeColumns {
  Array<int32_t> depth;
  Array<int64_t> gradient, hessian;
  Array<double> lower, upper, step, anchor;

  explicit NodeColumns(const std::vector<Node>& nodes)
      : TreeColumns(nodes, 1.0),
        depth(column(nodes, [](const Node& n) { return n.depth; })),
        gradient(column(nodes, [](const Node& n) { return n.sums.g; })),
        hessian(column(nodes, [](const Node& n) { return n.sums.h; })),
        lower(column(nodes, [](const Node& n) { return n.limits.lower; })),
        upper(column(nodes, [](const Node& n) { return n.limits.upper; })),
        step(column(nodes, [](const Node& n) { return n.limits.value; })),
        anchor(column(nodes, [](const Node& n) { return n.limits.anchor; })) {}
};

// Methods of every type that has nodes.
template <class Owned, class NodesOf>
void def_nodes(nb::class_<Owned>& type, NodesOf nodes_of) {
  type.def(
          "nodes", [=](Owned& self) { return NodeColumns(nodes_of(self).all()); }, "All nodes, in the units of histograms.")
      .def(
          "grown",
          [=](Owned& self, double unit) {
            const DefaultFloatMode mode;
            return GrownTree(nodes_of(self).all(), unit);
          },
          "unit"_a, "The tree; `unit` is the real value of one unit of a histogram's gradient.")
      .def(
          "sets",
          [=](Owned& self) {
            std::vector<uint32_t> bits;
            for (const Node& n : nodes_of(self).all()) {
              if (n.left >= 0 && n.split.by_levels) bits.insert(bits.end(), std::begin(n.split.levels.bits), std::end(n.split.levels.bits));
            }
            return to_numpy2(std::move(bits), 8);
          },
          "(n, 8): the levels that go left, of the nodes that are split by levels.")
      .def(
          "limit",
          [=](Owned& self, int node, double lower, double upper) {
            TreeNodes& nodes = nodes_of(self);
            require(node >= 0 && size_t(node) < nodes.size() && lower <= upper, "no such node, or no such limits");
            nodes.set_limits(node, lower, upper);
          },
          "node"_a, "lower"_a, "upper"_a, "Set the bounds of a node's value.")
      .def(
          "split_features",
          [=](Owned& self, ListOf<int> given) {
            const std::vector<int> chosen = to_vector<int>(given);
            const TreeNodes& nodes = nodes_of(self);
            std::vector<int> features;
            for (int node : chosen) {
              require(node >= 0 && size_t(node) < nodes.size(), "no such node");
              features.push_back(nodes[node].split.feature);
            }
            return features;
          },
          "nodes"_a, "The features of nodes' best splits.");
}

}  // namespace sapwood
