// Sums the leaf values that rows reach in a list of trees.
//
// Trees of up to 512 leaves are scored by sets of leaves: see leafsets.hpp. A symmetric tree, with one condition for each of at most eight
// levels, is a table: the results of its tests are the bits of the leaf's number. In larger trees eight rows at a time walk from node to
// node, so that loads of several rows overlap; a few rows walk one by one. A category's value is the number of its level; a node on it
// tests whether that is in a set, 32 rows at a time by looking bits up.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "bins/sparse.hpp"
#include "grow/levels.hpp"
#include "predict/leafsets.hpp"
#include "predict/linear_leaves.hpp"
#include "predict/tree_arrays.hpp"

namespace sapwood {

// A table of numbers as the caller has it: NumPy's type code, strides in elements.
struct Table {
  char type;
  const void* data;
  int64_t row_stride, column_stride;
  int64_t n_rows;
  int n_columns;
};

class Scorer {
 public:
  // n_levels  (n_features,) of a category, 0 for a number; null where all are numbers   IN
  Scorer(const TreeArrays& trees, const LeafArrays& leaves, int n_features, int n_outputs, const int32_t* n_levels);

  // Adds the trees [first, last) to out, (n_rows, n_outputs).
  void add(const Table& table, int64_t first, int64_t last, int n_threads, double* out) const;
  void add(const SparseMatrix& rows, int64_t first, int64_t last, int n_threads, double* out) const;

  // The leaf (its node number within the tree) each row reaches, (n_rows, last - first).
  void leaves(const Table& table, int64_t first, int64_t last, int n_threads, int32_t* out) const;

  // Read by Explainer: see shap.hpp.
  int64_t n_nodes() const { return begin_[n_trees()]; }  // of all trees
  int64_t n_nodes(int64_t tree) const { return begin_[tree + 1] - begin_[tree]; }
  int32_t feature(int64_t tree, int32_t node) const { return nodes_[begin_[tree] + node].feature; }  // -1 in a leaf
  std::pair<int32_t, int32_t> children(int64_t tree, int32_t node) const {
    return {nodes_[begin_[tree] + node].left, nodes_[begin_[tree] + node].right};
  }
  // The outputs that a tree counts for, and its leaves' values for them.
  struct Values {
    int first, n;
    const double* values;
    double of(int32_t leaf, int output) const { return values[int64_t(leaf) * n + output]; }
  };
  // The slopes of a leaf, if leaves are linear.
  std::pair<const Slope*, const Slope*> slopes(int64_t tree, int32_t leaf) const {
    if (slopes_.empty()) return {nullptr, nullptr};
    return {slopes_.of(begin_[tree] + leaf), slopes_.end_of(begin_[tree] + leaf)};
  }
  const LinearInputs& inputs() const { return inputs_; }
  Values values(int64_t tree) const {
    return {n_values_ == 1 ? int(tree % n_outputs_) : 0, n_values_, values_.data() + begin_[tree] * n_values_};
  }
  // Rows of a table by columns, (n_features, n) float64.
  void load(const Table& table, int64_t begin, int64_t n, std::vector<double>& columns) const;
  // Whether rows go left at each node of a tree, (n_nodes, n) uint8; nothing is written for leaves.
  void decide(int64_t tree, const double* columns, int64_t n, uint8_t* left) const;

  int n_features() const { return n_features_; }
  int n_outputs() const { return n_outputs_; }
  int64_t n_trees() const { return int64_t(begin_.size()) - 1; }

 private:
  // The test of a node on the leaves of one plane: rows whose bin is above `bin`, or not in a set, cannot reach `leaves`.
  struct NodeTest {
    uint16_t feature;  // among those used
    int8_t bin;        // less 128
    uint8_t leaves;
    uint8_t missing_left;
    int32_t set;  // or -1
  };
  struct Walk {
    double threshold;  // of a category: its last level
    int32_t feature;
    int32_t left, right;
    int32_t set;  // or -1
    uint8_t missing_left;
  };
  // A node of a large tree, by bins. A leaf leads to itself.
  struct Step {
    uint16_t feature;     // among those used
    int8_t bin, missing;  // less 128: up to this bin, and in this one, rows go left
    int32_t set;          // or -1
    int32_t left, right;  // in the list of all steps
  };
  // The levels of a symmetric tree of at most eight; else 0.
  int symmetric_levels(const Walk* nodes, int64_t n) const;
  bool same_test(const Walk& a, const Walk& b) const;
  bool goes_left(const Walk& node, double x) const;
  int64_t walk(int64_t tree, const double* row) const;
  void walk_together(int64_t tree, const double* rows, int n, int64_t* leaf) const;
  void tabulate_inputs();
  void add_steps(int64_t tree, const LeafNumbers& numbers);
  void walk_block(int64_t tree, const uint8_t* block, uint32_t* leaf) const;
  template <class Leaf>
  void add_leaves(int64_t tree, const Leaf* leaf, int n, const double* inputs, double* sums) const;
  template <class Source>
  void add_any(const Source& source, int64_t n_rows, int64_t first, int64_t last, int n_threads, double* out) const;
  template <class Source>
  void add_walking(const Source& source, int64_t begin, int64_t end, int64_t first, int64_t last, double* out) const;
  template <class Evaluate>
  void add_block(int64_t first, int64_t last, const uint8_t* block, const double* inputs, int n, Evaluate&& evaluate, double* sums) const;
  template <class Source>
  void add_blocks(const Source& source, int64_t begin, int64_t end, int64_t first, int64_t last, double* out) const;
  // The bins of n rows from `at` on, kSetRows to a used feature; `missing` is set where any is.
  void bin_block(const Table& table, int64_t at, int n, uint8_t* block, uint8_t* missing) const;
  void bin_block(const SparseMatrix& rows, int64_t at, int n, uint8_t* block, uint8_t* missing) const;

  int n_features_, n_outputs_;
  int n_values_;                // of a leaf
  int stride_;                  // the same in whole vectors, where there are several
  bool binned_ = true;          // whether the bins of all features fit bytes
  std::vector<int64_t> begin_;  // of each tree's nodes
  std::vector<Walk> nodes_;
  std::vector<double> values_;     // (n_nodes, n_values)
  std::vector<LevelSet> sets_;     // by bins, that of missing values included
  std::vector<int32_t> used_;      // features that any node tests
  std::vector<int32_t> index_of_;  // (n_features,): of each among them, or -1
  std::vector<double> cuts_;       // their thresholds, end to end
  std::vector<int64_t> cuts_begin_;
  std::vector<NodeTest> test_list_;
  std::vector<int64_t> plane_begin_;  // of each (tree, plane)'s tests
  std::vector<int64_t> tree_plane_;   // (n_trees + 1,) first plane of each tree
  std::vector<NodeTest> level_list_;  // conditions of symmetric trees, from the root down
  std::vector<int64_t> level_begin_;  // (n_trees + 1,)
  std::vector<Step> step_list_;       // of large trees
  std::vector<uint32_t> step_leaf_;   // of each step that is a leaf: its number from left to right
  std::vector<int64_t> step_begin_;   // (n_trees + 1,)
  std::vector<double> leaf_values_;   // (n_leaves, stride), left to right
  std::vector<int64_t> leaf_nodes_;   // (n_leaves,) where leaves are linear: the node of each, counted through all trees
  Slopes slopes_;                     // of linear leaves, by node
  LinearInputs inputs_;
  std::vector<double> input_table_;  // (n_inputs, 256): of each bin
  std::vector<int64_t> leaf_begin_;
};

}  // namespace sapwood
