// Finds splits on pre-sorted columns: every distinct value is a candidate.
//
// Each feature's rows are sorted once, by the rank of their values. A tree's nodes own ranges of the sorted lists, the same range of every
// feature's; to split a node is to partition its range of each list in two, which keeps both parts sorted. Missing values have the highest
// rank and so come last.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "grow/splits.hpp"
#include "grow/tree_nodes.hpp"

namespace sapwood {

struct Ranked {
  uint32_t row, rank;
};
inline constexpr uint32_t kMissingRank = 0xffffffffu;

// The rows of a column by value, and its distinct values, ascending; missing ones last.
struct SortedColumn {
  std::vector<Ranked> rows;
  std::vector<double> values;
};

// Which values are candidates: all; or those at quantiles, weighted by hessians, of a tree's rows or of a node's.
enum class Proposal : int { kAll = 0, kGlobal = 1, kLocal = 2 };

class SortedTree {
 public:
  // columns  (n_features,) of n_rows each; ranks below their n_values, or kMissingRank
  SortedTree(std::vector<const Ranked*> columns, std::vector<int64_t> n_values, int64_t n_rows, int n_threads, Proposal proposal,
             int n_quantiles);

  // Constraints of all trees to come; no feature is a category.
  void constrain(TreeConstraints constraints) { nodes_.constrain(std::move(constraints)); }
  // The same as SplitSearch with one RowPartition: see there.
  void start(void* gradients, const TreeSettings& settings, const uint8_t* allowed, const int64_t* sample, int64_t n_sample);
  int advance(const std::vector<int>& nodes, bool search, const uint8_t* allowed);
  void leaf_sums(const std::vector<int>& leaves, Sums* sums, void* leaf_of_row, int leaf_size);
  void search_again(int node, const uint8_t* allowed) { search({node}, allowed, node); }
  bool force(int node, Split split);

  TreeNodes& nodes() { return nodes_; }
  const TreeNodes& nodes() const { return nodes_; }
  int n_features() const { return int(columns_.size()); }
  int64_t n_rows() const { return n_rows_; }

 private:
  struct Range {
    int64_t begin = 0, end = 0;
  };
  const Ranked* list(int feature, int node) const {
    const bool whole = node == 0 && !sampled_;
    return (whole ? columns_[feature] : lists_.data() + int64_t(feature) * n_rows_) + ranges_[node].begin;
  }
  int64_t size(int node) const { return ranges_[node].end - ranges_[node].begin; }
  Ranked* make_list(int feature) { return lists_.data() + int64_t(feature) * n_rows_; }
  bool goes_left(const Split& split, uint32_t rank) const {
    return rank == kMissingRank ? split.missing_left : rank <= uint32_t(split.bin);
  }
  void partition(const std::vector<int>& nodes);
  void search(const std::vector<int>& nodes, const uint8_t* allowed, int first);
  void scan(int node, int feature, Split& best) const;
  void propose(int feature);
  template <class F>
  void visit_values(int node, int feature, int64_t n, F&& f) const;
  void find_leaves(const std::vector<int>& leaves, uint32_t* leaf_of_row);
  Sums cell(uint32_t row) const;

  std::vector<const Ranked*> columns_;
  std::vector<int64_t> n_values_;
  int64_t n_rows_;
  int n_threads_;
  Proposal proposal_;
  int n_quantiles_;
  std::vector<std::vector<uint8_t>> proposed_;  // of each feature: whether a rank is a candidate in this tree
  TreeNodes nodes_;
  HistogramFormat format_;
  const void* gradients_ = nullptr;
  bool sampled_ = false;
  std::vector<Range> ranges_;
  std::vector<Ranked> lists_;               // (n_features, n_rows)
  std::vector<std::vector<Ranked>> spare_;  // of each thread
  std::vector<uint8_t> left_;               // of each row: whether it goes left
};

}  // namespace sapwood
