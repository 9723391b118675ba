// The best splits of a growing tree's nodes, from sums over all rows of the data set.
//
// A SplitSearch knows no row. It holds the nodes, their rules and their histograms, and decides which nodes can be split, which child's
// histogram is built and which one is subtracted. The sums come from RowPartitions, either as integers that were added up,
//
//   batch = search.begin(nodes)              makes the children
//   words = sum of partition.apply(batch)    sends rows to the children, builds histograms
//   search.take(batch, words)
//   search.best(batch)                       subtracts, finds the best splits of the children
//
// or from one partition that has all rows, which adds straight to the histograms here: advance(). Both give the same tree.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "bins/layout.hpp"
#include "core/fixed.hpp"
#include "grow/binary_features.hpp"
#include "grow/histogram_slots.hpp"
#include "grow/row_partition.hpp"
#include "grow/split_batch.hpp"
#include "grow/splits.hpp"
#include "grow/tree_nodes.hpp"

namespace sapwood {

class SplitSearch {
 public:
  SplitSearch(std::shared_ptr<const BinLayout> layout, int n_threads, int64_t max_histogram_bytes);

  // Constraints of all trees to come.
  void constrain(TreeConstraints constraints);

  // Begins a tree.
  //   root     sums of all rows, in histogram units
  //   allowed  (n_features,) features that the root may split on, or null for all   IN
  SplitBatch start(const Sums& root, const TreeSettings& settings, const uint8_t* allowed);
  // Makes the children of nodes. With `search`, their best splits are found in this step.
  //   allowed  (2 * n_nodes, n_features) features that each child may split on, or null for all   IN
  SplitBatch begin(const std::vector<int>& nodes, bool search, const uint8_t* allowed);
  // Finds the best split of a leaf again: its limits have changed.
  SplitBatch begin_again(int node, const uint8_t* allowed);
  // Takes the summed words of all partitions.
  //   words  (n_histograms, n_words), then the numbers of rows of batch.uncounted()   IN
  void take(const SplitBatch& batch, const int64_t* words);
  // Finds the best splits of a batch whose words were taken.
  void best(const SplitBatch& batch);
  // Makes this the split of a node, whatever its gain; false if a child would be empty, or the feature is a category.
  //   left, all  sums of the rows that go left, and of all rows of the node, in histogram units
  bool force(int node, Split split, const Sums& left, const Sums& all);

  // The same with one partition that has all rows.
  void start(RowPartition& rows, void* gradients, const TreeSettings& settings, const uint8_t* allowed, const int64_t* sample,
             int64_t n_sample);
  int advance(RowPartition& rows, const std::vector<int>& nodes, bool search, const uint8_t* allowed);
  void search_again(RowPartition& rows, int node, const uint8_t* allowed);
  bool force(RowPartition& rows, int node, const Split& split);

  // Whether the tree was begun with this partition, and all its sums came from there.
  bool grows_on(const RowPartition& rows) const {
    return local_tree_ != 0 && local_tree_ == rows.tree_id() && int(nodes_.size()) == rows.n_nodes();
  }
  // Whether a batch is the latest step, and its words were taken or not.
  bool is_open(const SplitBatch& batch, bool taken) const { return batch.step == step_ && batch.step != 0 && taken == taken_; }

  // The histogram of a node, as (n_cells, 3) gradient, hessian, count; false if it is not kept.
  bool histogram(int node, int64_t* out) const;
  TreeNodes& nodes() { return nodes_; }
  const TreeNodes& nodes() const { return nodes_; }
  const std::shared_ptr<const BinLayout>& layout() const { return layout_; }

 private:
  static constexpr int64_t kSerialScan = 6000;        // bins below which threads cost more than they save
  static constexpr int64_t kFewCells = 2048;          // of binary features, which are searched faster than a few rows are read
  using Searches = std::vector<std::pair<int, int>>;  // see SplitBatch
  class UnitSearch;

  void begin_tree(const TreeSettings& settings);
  SplitBatch new_batch();
  // Makes the children and decides which histograms are built. With by_rows, small nodes are searched row by row and have no histogram.
  void plan_children(SplitBatch& batch, const std::vector<int>& nodes, bool search, bool by_rows);
  // Memory for a node's histogram, zeroed.
  int64_t* take_zeroed(int node);
  void apply(RowPartition& rows, const SplitBatch& batch);
  bool is_small(int node) const { return nodes_[node].sums.count <= few_rows_ && !nodes_.constraints().symmetric; }
  // Whether binary features can be searched together.
  bool searches_binary(const uint8_t* allowed) const {
    const TreeConstraints& c = nodes_.constraints();
    return !allowed && !c.shape_values() && nodes_.compares_gains();
  }
  // Sums of a histogram's first column.
  Sums sum_column(const int64_t* cells) const;

  // Finds the best splits of nodes.
  //   local  the partition whose rows are read for small nodes; null if all nodes have histograms
  void find_splits(const Searches& searches, const uint8_t* allowed, int first, const RowPartition* local);
  void find_binary(int node, int first_unit, int last_unit, Split& best) const;
  void find_symmetric_split(const Searches& searches, const uint8_t* allowed, int first);
  void find_symmetric(const std::vector<int>& nodes, uint32_t feature, int first, Split& split) const;
  Bins bins_of(uint32_t feature) const {
    return {layout_->columns.features[feature], layout_->n_bins[feature] - layout_->missing[feature], bool(layout_->missing[feature])};
  }
  // The cells of a feature in a node that has a histogram.
  const int64_t* cells_of(int node, uint32_t feature) const {
    return slots_.cells(node) + int64_t(layout_->cell(int(feature))) * format_.words();
  }
  Sums sum_bins_of(int node, uint32_t feature, Candidates& c) const;
  void subtract_units(int first, int last, int parent, int child) const;

  std::shared_ptr<const BinLayout> layout_;
  int n_threads_;
  HistogramFormat format_;
  TreeNodes nodes_;
  HistogramSlots slots_;
  BinaryFeatureScan binary_;
  int64_t few_rows_ = kFewRows;  // number of rows up to which a node is small
  uint64_t step_ = 0;            // of the latest batch
  bool taken_ = false;           // whether its words were taken
  uint64_t local_tree_ = 0;      // tree_id of the partition that all sums come from, or 0
};

}  // namespace sapwood
