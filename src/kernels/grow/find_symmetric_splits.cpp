// How a SplitSearch finds one split for all nodes of a level.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/pool.hpp"
#include "grow/split_search.hpp"

namespace sapwood {

// Cumulative sums of a feature's bins in a node that has a histogram; returns the sums of the missing bin.
Sums SplitSearch::sum_bins_of(int node, uint32_t feature, Candidates& c) const {
  return sum_bins(cells_of(node, feature), bins_of(feature), format_, nodes_[node].sums, c);
}

// The best split of several nodes on one feature. The levels of a category are ordered by their sums over all these nodes.
void SplitSearch::find_symmetric(const std::vector<int>& nodes, uint32_t feature, int first, Split& split) const {
  const CategoryRules& categories = nodes_.constraints().categories;
  const Kind kind = nodes_.constraints().kind(int(feature));
  std::optional<LevelOrder> order;
  Sums all, all_missing;
  Candidates together;
  if (kind != Kind::kNumber) {
    for (int node : nodes) {
      Candidates c;
      all_missing += sum_bins_of(node, feature, c);
      all += nodes_[node].sums;
      for (int b = 0; b < c.n; ++b) {
        const bool is_first = node == nodes[0];
        together.g[b] = c.g[b] + (is_first ? 0 : together.g[b]);
        together.h[b] = c.h[b] + (is_first ? 0 : together.h[b]);
        together.count[b] = c.count[b] + (is_first ? 0 : together.count[b]);
        together.bin[b] = b;
      }
      together.n = c.n;
    }
    const LevelSums levels(together);
    order.emplace(levels.of, levels.code, levels.n, kind, categories, nodes_.rules().hessian_unit, all_missing.count > 0);
    arrange(*order, levels, together);
  }
  SymmetricScores scores;
  int n = 0;
  for (int node : nodes) {
    Candidates c;
    const Sums missing = sum_bins_of(node, feature, c);
    if (order) arrange(*order, LevelSums(c), c);
    add_symmetric(c, missing, nodes_.context(node, feature), order && order->sorted() ? categories.l2 : 0, scores);
    n = c.n;
  }
  choose_symmetric(scores, n, nodes_.context(first, feature), split);
  if (!order || split.gain <= 0) return;
  const int64_t n_left = together.count[split.bin] + (split.missing_left ? all_missing.count : 0);
  split.levels = order->levels(split.bin, 2 * n_left > all.count);
  split.by_levels = true;
  split.bin = 0;
}

// One split for all nodes of a level, also for those that have too few rows to be searched.
void SplitSearch::find_symmetric_split(const Searches& searches, const uint8_t* allowed, int first) {
  std::vector<int> nodes;  // that are searched
  for (auto [child, sibling] : searches) {
    for (int node : {child, sibling}) {
      if (node >= 0 && nodes_.can_split(nodes_[node])) nodes.push_back(node);
    }
  }
  if (nodes.empty()) return;
  const int n_threads = int64_t(nodes.size()) * layout_->n_cells < kSerialScan ? 1 : n_threads_;
  std::vector<Split> best(n_threads);
  parallel(n_threads, layout_->n_units(), [&](int participant, Tasks& tasks) {
    for (int64_t unit; (unit = tasks.claim()) >= 0;) {
      for (auto [child, sibling] : searches) {
        if (sibling >= 0) subtract_units(int(unit), int(unit) + 1, sibling, child);
      }
      for (uint32_t m = layout_->member_begin[unit]; m < layout_->member_begin[unit + 1]; ++m) {
        const uint32_t f = layout_->columns.members[m];
        if (allowed && !allowed[f]) continue;  // the features of the first node are those of its level
        Split split;
        find_symmetric(nodes, f, first, split);
        split.feature = int(f);
        nodes_.compare(split, first, best[participant]);
      }
    }
  });
  Split top;
  for (const Split& split : best) {
    if (split.gain > 0 && (top.gain <= 0 || better(split, top))) top = split;
  }
  if (top.gain <= 0) return;
  int64_t n_left = 0, n_all = 0;
  top.counted = false;
  for (size_t node = size_t(first); node < nodes_.size(); ++node) nodes_[int(node)].split = top;
  for (int node : nodes) {
    Candidates c;
    const Sums missing = sum_bins_of(node, uint32_t(top.feature), c);
    const LevelSums bins(c);
    Split& split = nodes_[node].split;
    split.counted = true;
    split.left = top.missing_left ? missing : Sums{};
    for (int b = 0; b < bins.n; ++b) {
      if (top.goes_left(b)) split.left += bins.of[b];
    }
    n_left += split.left.count, n_all += nodes_[node].sums.count;
  }
  if (!top.any_missing) {
    for (size_t node = size_t(first); node < nodes_.size(); ++node) nodes_[int(node)].split.missing_left = 2 * n_left > n_all;
  }
}

}  // namespace sapwood
