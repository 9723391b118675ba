// Arguments of the types that grow trees, and their checks.
#pragma once
#include "bindings/nodes.hpp"
#include "grow/row_partition.hpp"

namespace sapwood {

using Allowed = std::optional<In<uint8_t>>;     // (n_features,)
using AllowedOf = std::optional<In2<uint8_t>>;  // (n_nodes, n_features)
using Gains = std::pair<int, std::vector<double>>;

// A RowPartition, and the arrays that live as long as it does.
struct OwnedPartition {
  std::vector<std::shared_ptr<OwnedPage>> pages;
  Bytes gradients;
  RowPartition rows;
};

inline void require_loaded(const OwnedPartition& partition) { require(partition.rows.is_loaded(), "the page is not loaded"); }

inline void require_leaf(const TreeNodes& nodes, int node) {
  require(node >= 0 && size_t(node) < nodes.size() && nodes[node].left < 0, "not a leaf");
}

inline void require_splits(const TreeNodes& nodes, const std::vector<int>& chosen, const AllowedOf& allowed, int n_features) {
  for (size_t i = 0; i < chosen.size(); ++i) {
    const int node = chosen[i];
    require(node >= 0 && size_t(node) < nodes.size() && nodes[node].left < 0 && nodes[node].split.gain > 0, "node cannot be split");
    require(std::find(chosen.begin(), chosen.begin() + i, node) == chosen.begin() + i, "node given twice");
  }
  require(!allowed || (allowed->shape(0) == 2 * chosen.size() && int(allowed->shape(1)) == n_features),
          "allowed must have one row for each child");
}

inline void require_allowed(const Allowed& allowed, int n_features) {
  require(!allowed || int(allowed->size()) == n_features, "allowed must have one entry for each feature");
}

inline void require_gradients(const Bytes& gradients, const HistogramFormat& format, int64_t n_rows) {
  const size_t size = format.gradients == GradientFormat::kSingle ? sizeof(Single) : sizeof(Pair);
  require(gradients.size() == size_t(n_rows) * size, "gradients do not fit");
  require(n_rows < int64_t(1) << format.count_bits, "count_bits too small");
}

inline void require_features(const TreeConstraints& constraints, size_t n_features) {
  auto fits = [&](size_t n) { return n == 0 || n == n_features; };
  require(fits(constraints.weights.size()) && fits(constraints.monotonic.size()), "one entry for each feature");
  require(fits(constraints.kinds.size()), "one kind for each feature");
}

inline Split make_split(int feature, int bin, bool missing_left, int n_features) {
  require(feature >= 0 && feature < n_features && bin >= 0, "feature or bin out of range");
  Split split;
  split.feature = feature;
  split.bin = bin;
  split.missing_left = missing_left;
  return split;
}

inline void require_same(const BinLayout& a, const BinLayout& b) { require(&a == &b || a == b, "layouts differ"); }

template <class T>
const T* data_of(const std::optional<In<T>>& array) {
  return array ? array->data() : nullptr;
}
inline const uint8_t* data_of(const AllowedOf& array) { return array ? array->data() : nullptr; }
inline int64_t size_of(const std::optional<In<int64_t>>& array) { return array ? int64_t(array->size()) : 0; }

inline void require_sample(const OwnedPartition& self, const std::optional<In<int64_t>>& sample) {
  require(!sample || self.rows.has_rows(sample->data(), size_of(sample)), "sample must be rows in ascending order");
}

// The first of some nodes, and the gains of their best splits.
inline Gains gains_of(const TreeNodes& nodes, int first, int n) {
  std::vector<double> gains;
  for (int i = first; i < first + n; ++i) gains.push_back(nodes[i].split.gain);
  return {first, std::move(gains)};
}

// (3, n_leaves): gradients, hessians, rows of the leaves.
//   sum  fills (leaves, sums)
template <class IsLeaf, class Sum>
Array2<int64_t> sum_leaves(const In<int64_t>& given, const Bytes& leaf_of_row, int leaf_size, int64_t n_rows, IsLeaf&& is_leaf, Sum&& sum) {
  require(leaf_size == 1 || leaf_size == 2 || leaf_size == 4, "leaf_size must be 1, 2 or 4");
  require(leaf_of_row.size() == size_t(n_rows) * leaf_size, "leaf_of_row does not fit");
  require(leaf_size == 4 || given.size() <= size_t(1) << (8 * leaf_size), "leaf_size too small");
  for (size_t i = 0; i < given.size(); ++i) require(is_leaf(given.data()[i]), "not a leaf");
  const size_t n = given.size();
  const std::vector<int> leaves(given.data(), given.data() + n);
  std::vector<Sums> sums(n);
  {
    const Released free;
    sum(leaves, sums.data());
  }
  std::vector<int64_t> values(3 * n);
  for (size_t i = 0; i < n; ++i) values[i] = sums[i].g, values[n + i] = sums[i].h, values[2 * n + i] = sums[i].count;
  return to_numpy2(std::move(values), n);
}

}  // namespace sapwood
