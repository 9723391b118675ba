// One step of a growing tree: nodes to split, then histograms to build.
//
// A SplitSearch makes it from sums over all rows. Every RowPartition applies it to its own rows.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bins/layout.hpp"
#include "core/fixed.hpp"
#include "grow/rules.hpp"

namespace sapwood {

// The sides of a split's bins, where its feature is stored.
inline Sides sides_of(const BinLayout& layout, const Split& split) {
  Sides sides;
  const int missing_bin = layout.missing[split.feature] ? layout.missing_bin[split.feature] : -1;
  sides.fill(layout.columns.features[split.feature], layout.n_bins[split.feature],
             [&](int bin) { return bin == missing_bin ? split.missing_left : split.goes_left(bin); });
  return sides;
}

struct SplitBatch {
  struct NodeSplit {
    int node;
    Split split;
  };
  std::shared_ptr<const BinLayout> layout;
  HistogramFormat format;
  uint64_t step = 0;  // of the SplitSearch that made it
  int first = 0;      // the children of splits[i] are the nodes first + 2 i (left) and first + 2 i + 1; without splits, the searched node
  int n_nodes = 0;    // number of nodes from `first` on that belong to the step
  std::vector<NodeSplit> splits;
  std::vector<int> histograms;                // nodes whose histograms are to be built
  std::vector<std::pair<int, int>> searches;  // nodes to search: (node, the sibling that its histogram is subtracted from, or -1)
  std::vector<uint8_t> allowed;               // (n_nodes, n_features), or empty if all features are allowed

  // Words of one histogram, the last cell is padding.
  int64_t n_words() const { return (layout->n_cells + 1) * format.words(); }
  // The children whose numbers of rows are known only after the split.
  std::vector<int> uncounted() const {
    std::vector<int> nodes;
    for (size_t i = 0; i < splits.size(); ++i) {
      if (!splits[i].split.counted) nodes.insert(nodes.end(), {first + 2 * int(i), first + 2 * int(i) + 1});
    }
    return nodes;
  }
};

}  // namespace sapwood
