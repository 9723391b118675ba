// Growing trees: rows, splits, nodes.
#include <cstring>
#include <limits>

#include "bindings/bindings.hpp"
#include "core/buffer.hpp"
#include "grow/row_partition.hpp"
#include "grow/sorted.hpp"
#include "grow/split_search.hpp"

namespace sapwood {
namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using Array2 = nb::ndarray<nb::numpy, T, nb::ndim<2>>;
using Allowed = std::optional<In<uint8_t>>;     // (n_features,)
using AllowedOf = std::optional<In2<uint8_t>>;  // (n_nodes, n_features)
using Gains = std::pair<int, std::vector<double>>;

template <class T>
Array2<T> to_numpy2(std::vector<T> values, size_t n_columns) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array2<T>(kept->data(), {kept->size() / n_columns, n_columns}, owner);
}

// A RowPartition, and the arrays that live as long as it does.
struct OwnedPartition {
  std::vector<std::shared_ptr<OwnedPage>> pages;
  Bytes gradients;
  RowPartition rows;
};

// A SortedTree, and the arrays that live as long as it does.
struct OwnedSorted {
  std::vector<In2<uint32_t>> columns;
  Bytes gradients;
  SortedTree tree;
};

// Nodes

// A value of each node.
template <class F>
auto column(const std::vector<Node>& nodes, F&& of) {
  std::vector<decltype(of(nodes[0]))> values(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) values[i] = of(nodes[i]);
  return to_numpy(std::move(values));
}

// Columns of the node table that a finished tree has, too.
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

template <class Self, class... Members>
void def_arrays(nb::class_<Self>& type, std::initializer_list<const char*> names, Members... members) {
  auto name = names.begin();
  (type.def_prop_ro(*name++, [members](const Self& self) { return self.*members; }, nb::rv_policy::automatic), ...);
}

template <class Self>
void def_tree_columns(nb::class_<Self>& type) {
  def_arrays<Self>(type, {"feature", "bin", "left", "right", "missing_left", "by_levels", "count", "gain"}, &Self::feature, &Self::bin,
                   &Self::left, &Self::right, &Self::missing_left, &Self::by_levels, &Self::count, &Self::gain);
}

void bind_columns(nb::module_& m) {
  nb::class_<GrownTree> grown(m, "GrownTree", "A tree that is grown: nodes in real units; `lower`, `upper`, `anchor` of its leaves.");
  def_tree_columns(grown);
  def_arrays<GrownTree>(grown, {"leaves", "inner", "lower", "upper", "anchor"}, &GrownTree::leaves, &GrownTree::inner, &GrownTree::lower,
                        &GrownTree::upper, &GrownTree::anchor);
  nb::class_<NodeColumns> nodes(m, "NodeColumns",
                                "The nodes of a growing tree, in the units of its histograms. `step` is a node's value where constraints "
                                "shape it, before the learning rate; `anchor` its parent's.");
  def_tree_columns(nodes);
  def_arrays<NodeColumns>(nodes, {"depth", "gradient", "hessian", "lower", "upper", "step", "anchor"}, &NodeColumns::depth,
                          &NodeColumns::gradient, &NodeColumns::hessian, &NodeColumns::lower, &NodeColumns::upper, &NodeColumns::step,
                          &NodeColumns::anchor);
}

// Checks

void require_leaf(const TreeNodes& nodes, int node) {
  require(node >= 0 && size_t(node) < nodes.size() && nodes[node].left < 0, "not a leaf");
}

void require_splits(const TreeNodes& nodes, const std::vector<int>& chosen, const AllowedOf& allowed, int n_features) {
  for (size_t i = 0; i < chosen.size(); ++i) {
    const int node = chosen[i];
    require(node >= 0 && size_t(node) < nodes.size() && nodes[node].left < 0 && nodes[node].split.gain > 0, "node cannot be split");
    require(std::find(chosen.begin(), chosen.begin() + i, node) == chosen.begin() + i, "node given twice");
  }
  require(!allowed || (allowed->shape(0) == 2 * chosen.size() && int(allowed->shape(1)) == n_features),
          "allowed must have one row for each child");
}

void require_allowed(const Allowed& allowed, int n_features) {
  require(!allowed || int(allowed->size()) == n_features, "allowed must have one entry for each feature");
}

void require_gradients(const Bytes& gradients, const HistogramFormat& format, int64_t n_rows) {
  const size_t size = format.gradients == GradientFormat::kSingle ? sizeof(Single) : sizeof(Pair);
  require(gradients.size() == size_t(n_rows) * size, "gradients do not fit");
  require(n_rows < int64_t(1) << format.count_bits, "count_bits too small");
}

void require_features(const TreeConstraints& constraints, size_t n_features) {
  auto fits = [&](size_t n) { return n == 0 || n == n_features; };
  require(fits(constraints.weights.size()) && fits(constraints.monotonic.size()), "one entry for each feature");
  require(fits(constraints.kinds.size()), "one kind for each feature");
}

Split make_split(int feature, int bin, bool missing_left, int n_features) {
  require(feature >= 0 && feature < n_features && bin >= 0, "feature or bin out of range");
  Split split;
  split.feature = feature;
  split.bin = bin;
  split.missing_left = missing_left;
  return split;
}

void require_same(const BinLayout& a, const BinLayout& b) { require(&a == &b || a == b, "layouts differ"); }

void require_grown(const SplitSearch& search, const OwnedPartition& partition) {
  require(search.grows_on(partition.rows), "the tree was not begun with this partition");
}

template <class T>
const T* data_of(const std::optional<In<T>>& array) {
  return array ? array->data() : nullptr;
}
const uint8_t* data_of(const AllowedOf& array) { return array ? array->data() : nullptr; }
int64_t size_of(const std::optional<In<int64_t>>& array) { return array ? int64_t(array->size()) : 0; }

// The first of some nodes, and the gains of their best splits.
Gains gains_of(const TreeNodes& nodes, int first, int n) {
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
    nb::gil_scoped_release free;
    sum(leaves, sums.data());
  }
  std::vector<int64_t> values(3 * n);
  for (size_t i = 0; i < n; ++i) values[i] = sums[i].g, values[n + i] = sums[i].h, values[2 * n + i] = sums[i].count;
  return to_numpy2(std::move(values), n);
}

// Methods of every type that has nodes.
template <class Owned, class NodesOf>
void bind_nodes(nb::class_<Owned>& type, NodesOf nodes_of) {
  type.def(
          "nodes", [=](Owned& self) { return NodeColumns(nodes_of(self).all()); }, "All nodes, in the units of histograms.")
      .def(
          "grown", [=](Owned& self, double unit) { return GrownTree(nodes_of(self).all(), unit); }, "unit"_a,
          "The tree; `unit` is the real value of one unit of a histogram's gradient.")
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
          [=](Owned& self, const std::vector<int>& chosen) {
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

// RowPartition

OwnedPartition make_partition(std::shared_ptr<BinLayout> layout, std::vector<std::shared_ptr<OwnedPage>> pages, int n_threads) {
  std::vector<Page> list;
  int64_t end = 0;
  for (const auto& page : pages) {
    require_same(*layout, *page->layout);
    require(page->page.first_row >= end, "pages must be in ascending order of their rows");
    end = page->page.first_row + page->page.n_rows;
    list.push_back(page->page);
  }
  return {std::move(pages), {}, RowPartition(std::move(layout), std::move(list), n_threads)};
}

void require_sample(const OwnedPartition& self, const std::optional<In<int64_t>>& sample) {
  require(!sample || self.rows.has_rows(sample->data(), size_of(sample)), "sample must be rows in ascending order");
}

void require_batch(const RowPartition& rows, const SplitBatch& batch) {
  require_same(*rows.layout(), *batch.layout);
  require(rows.n_nodes() > 0 && rows.format() == batch.format, "the partition has not begun this tree");
  require(batch.splits.empty() || batch.first == rows.n_nodes(), "the partition has not applied the steps before");
  for (const auto& split : batch.splits) require(rows.is_leaf(split.node), "node cannot be split");
  for (int node : batch.histograms) {
    require(rows.is_leaf(node) || (node >= batch.first && node < batch.first + batch.n_nodes && !batch.splits.empty()), "no such node");
  }
}

// (n_histograms * n_words + n_uncounted,) int64
Array<int64_t> apply_batch(OwnedPartition& self, const SplitBatch& batch) {
  require_batch(self.rows, batch);
  const size_t n_histograms = batch.histograms.size();
  const int64_t n_words = batch.n_words();
  const std::vector<int> uncounted = batch.uncounted();
  const size_t n = n_histograms * size_t(n_words) + uncounted.size();
  auto* kept = new Buffer(n * sizeof(int64_t));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Buffer*>(p); });
  int64_t* words = kept->as<int64_t>();
  {
    nb::gil_scoped_release free;
    std::memset(words, 0, n * sizeof(int64_t));
    std::vector<int64_t*> histograms;
    for (size_t i = 0; i < n_histograms; ++i) histograms.push_back(words + int64_t(i) * n_words);
    self.rows.apply(batch, histograms.data(), false);
    for (int64_t* histogram : histograms) std::fill_n(histogram + n_words - batch.format.words(), batch.format.words(), 0);  // padding
    for (size_t i = 0; i < uncounted.size(); ++i) words[n_histograms * size_t(n_words) + i] = self.rows.count(uncounted[i]);
  }
  return Array<int64_t>(words, {n}, owner);
}

void bind_partition(nb::module_& m) {
  nb::class_<SplitBatch>(m, "SplitBatch", "One step of a growing tree: nodes to split, then histograms to build.")
      .def_prop_ro("n_splits", [](const SplitBatch& self) { return self.splits.size(); })
      .def_prop_ro("n_histograms", [](const SplitBatch& self) { return self.histograms.size(); })
      .def_prop_ro("n_words", &SplitBatch::n_words, "Number of words of a histogram.");
  nb::class_<OwnedPartition>(m, "RowPartition", "Some rows of a data set, by the node of a growing tree that each is in.")
      .def(
          "__init__",
          [](OwnedPartition* self, std::shared_ptr<BinLayout> layout, std::vector<std::shared_ptr<OwnedPage>> pages, int n_threads) {
            new (self) OwnedPartition(make_partition(std::move(layout), std::move(pages), n_threads));
          },
          "layout"_a, "pages"_a, "n_threads"_a)
      .def_prop_ro("n_rows", [](const OwnedPartition& self) { return self.rows.n_rows(); })
      .def(
          "start",
          [](OwnedPartition& self, Bytes gradients, const HistogramFormat& format, uint64_t key, std::optional<In<int64_t>> sample) {
            require_gradients(gradients, format, self.rows.n_rows());
            require_sample(self, sample);
            self.gradients = gradients;
            Sums sums;
            {
              nb::gil_scoped_release free;
              const int64_t none = 0;  // an empty sample is not the same as no sample
              const int64_t* ids = sample && sample->size() == 0 ? &none : data_of(sample);
              self.rows.start(gradients.data(), format, key, ids, size_of(sample), nullptr);
              sums = self.rows.node_sums(0);
            }
            return to_numpy(std::vector<int64_t>{sums.g, sums.h, sums.count});
          },
          "gradients"_a, "format"_a, "key"_a, "sample"_a = nb::none(),
          "Begin a tree on all rows, or on a sample of their ids. Returns the sums of its rows: gradient, hessian, count.")
      .def("apply", &apply_batch, "batch"_a,
           "Split nodes and build histograms. Returns the histograms, (n_histograms, n_words) in a row, then the numbers of rows of those "
           "children whose numbers were not known beforehand.")
      .def(
          "split_sums",
          [](OwnedPartition& self, int node, int feature, int bin, bool missing_left) {
            require(self.rows.is_leaf(node), "node cannot be split");
            const Split split = make_split(feature, bin, missing_left, self.rows.layout()->n_features);
            Sums left, all;
            {
              nb::gil_scoped_release free;
              left = self.rows.left_sums(node, split);
              all = self.rows.node_sums(node);
            }
            return to_numpy2(std::vector<int64_t>{left.g, left.h, left.count, all.g, all.h, all.count}, 3);
          },
          "node"_a, "feature"_a, "bin"_a, "missing_left"_a,
          "(2, 3): gradient, hessian and count of the rows that a split would send left, and of all rows of the node.")
      .def(
          "leaf_sums",
          [](OwnedPartition& self, In<int64_t> leaves, Bytes leaf_of_row, int leaf_size) {
            return sum_leaves(
                leaves, leaf_of_row, leaf_size, self.rows.n_rows(), [&](int64_t leaf) { return self.rows.is_leaf(leaf); },
                [&](const std::vector<int>& nodes, Sums* sums) { self.rows.leaf_sums(nodes, sums, leaf_of_row.data(), leaf_size); });
          },
          "leaves"_a, "leaf_of_row"_a, "leaf_size"_a,
          "(3, n_leaves): exact sums of the leaves' gradients, hessians and rows. Writes the number of its leaf for each row, sampled or "
          "not, in `leaf_size` bytes.");
}

// SplitSearch

void bind_summed(nb::class_<SplitSearch>& type) {
  type.def(
          "start",
          [](SplitSearch& self, In<int64_t> sums, const HistogramFormat& format, const SplitRules& rules, int max_depth, uint64_t key,
             Allowed allowed) {
            require(sums.size() == 3 && sums.data()[2] >= 0, "sums must be gradient, hessian and count");
            require(sums.data()[2] < int64_t(1) << format.count_bits, "count_bits too small");
            require_allowed(allowed, self.layout()->n_features);
            const Sums root{sums.data()[0], sums.data()[1], sums.data()[2]};
            return self.start(root, format, rules, max_depth, key, data_of(allowed));
          },
          "sums"_a, "format"_a, "rules"_a, "max_depth"_a, "key"_a, "allowed"_a = nb::none(), "Begin a tree whose root has these sums.")
      .def(
          "begin",
          [](SplitSearch& self, const std::vector<int>& nodes, bool search, AllowedOf allowed) {
            require_splits(self.nodes(), nodes, allowed, self.layout()->n_features);
            return self.begin(nodes, search, data_of(allowed));
          },
          "nodes"_a, "search"_a, "allowed"_a = nb::none(), "Make the children of nodes. With `search`, their best splits are found.")
      .def(
          "begin_again",
          [](SplitSearch& self, int node, Allowed allowed) {
            require_leaf(self.nodes(), node);
            require_allowed(allowed, self.layout()->n_features);
            return self.begin_again(node, data_of(allowed));
          },
          "node"_a, "allowed"_a = nb::none(), "Find the best split of a leaf again: its limits have changed.")
      .def(
          "take",
          [](SplitSearch& self, const SplitBatch& batch, In<int64_t> words) {
            require(self.is_open(batch, false), "not the latest step");
            const size_t n = batch.histograms.size() * size_t(batch.n_words()) + batch.uncounted().size();
            require(words.size() == n, "words do not fit");
            nb::gil_scoped_release free;
            self.take(batch, words.data());
          },
          "batch"_a, "words"_a, "Take the results of `RowPartition.apply`, summed over all partitions.")
      .def(
          "best",
          [](SplitSearch& self, const SplitBatch& batch) {
            require(self.is_open(batch, true), "not the latest step, or its words were not taken");
            {
              nb::gil_scoped_release free;
              self.best(batch);
            }
            return gains_of(self.nodes(), batch.first, batch.n_nodes);
          },
          "batch"_a, "Find the best splits. Returns the first node of the step, and the gains of its nodes.")
      .def(
          "force",
          [](SplitSearch& self, int node, int feature, int bin, bool missing_left, In2<int64_t> sums) {
            require_leaf(self.nodes(), node);
            require(sums.shape(0) == 2 && sums.shape(1) == 3, "sums must be (2, 3)");
            const int64_t* s = sums.data();
            return self.force(node, make_split(feature, bin, missing_left, self.layout()->n_features), {s[0], s[1], s[2]},
                              {s[3], s[4], s[5]});
          },
          "node"_a, "feature"_a, "bin"_a, "missing_left"_a, "sums"_a,
          "Make this the split of a node, whatever its gain; `sums` are those of `RowPartition.split_sums`. False if a child would be "
          "empty.");
}

void bind_fused(nb::class_<SplitSearch>& type) {
  type.def(
          "start",
          [](SplitSearch& self, OwnedPartition& partition, Bytes gradients, const HistogramFormat& format, const SplitRules& rules,
             int max_depth, uint64_t key, Allowed allowed, std::optional<In<int64_t>> sample) {
            require_same(*self.layout(), *partition.rows.layout());
            require_gradients(gradients, format, partition.rows.n_rows());
            require_allowed(allowed, self.layout()->n_features);
            require_sample(partition, sample);
            require(!sample || sample->size() > 0, "sample must have a row");
            partition.gradients = gradients;
            {
              nb::gil_scoped_release free;
              self.start(partition.rows, gradients.data(), format, rules, max_depth, key, data_of(allowed), data_of(sample),
                         size_of(sample));
            }
            return self.nodes()[0].split.gain;
          },
          "partition"_a, "gradients"_a, "format"_a, "rules"_a, "max_depth"_a, "key"_a, "allowed"_a = nb::none(), "sample"_a = nb::none(),
          "Begin a tree on a partition that has all rows. Returns the gain of the root's best split.")
      .def(
          "advance",
          [](SplitSearch& self, OwnedPartition& partition, const std::vector<int>& nodes, bool search, AllowedOf allowed) {
            require_splits(self.nodes(), nodes, allowed, self.layout()->n_features);
            require_grown(self, partition);
            int first;
            {
              nb::gil_scoped_release free;
              first = self.advance(partition.rows, nodes, search, data_of(allowed));
            }
            return gains_of(self.nodes(), first, 2 * int(nodes.size()));
          },
          "partition"_a, "nodes"_a, "search"_a, "allowed"_a = nb::none(),
          "Split nodes: `begin`, `RowPartition.apply`, `take` and `best` at once, without copies of histograms.")
      .def(
          "search_again",
          [](SplitSearch& self, OwnedPartition& partition, int node, Allowed allowed) {
            require_leaf(self.nodes(), node);
            require_allowed(allowed, self.layout()->n_features);
            require_grown(self, partition);
            {
              nb::gil_scoped_release free;
              self.search_again(partition.rows, node, data_of(allowed));
            }
            return self.nodes()[node].split.gain;
          },
          "partition"_a, "node"_a, "allowed"_a = nb::none(), "The gain of a leaf whose limits have changed.")
      .def(
          "force",
          [](SplitSearch& self, OwnedPartition& partition, int node, int feature, int bin, bool missing_left) {
            require_leaf(self.nodes(), node);
            require_grown(self, partition);
            const Split split = make_split(feature, bin, missing_left, self.layout()->n_features);
            nb::gil_scoped_release free;
            return self.force(partition.rows, node, split);
          },
          "partition"_a, "node"_a, "feature"_a, "bin"_a, "missing_left"_a,
          "Make this the split of a node, whatever its gain. False if a child would be empty.");
}

void bind_search(nb::module_& m) {
  nb::class_<SplitSearch> type(m, "SplitSearch", "The best splits of a growing tree's nodes, from sums over all rows of the data set.");
  type.def(
          "__init__",
          [](SplitSearch* self, std::shared_ptr<BinLayout> layout, int n_threads, int64_t max_histogram_bytes) {
            new (self) SplitSearch(std::move(layout), n_threads, max_histogram_bytes);
          },
          "layout"_a, "n_threads"_a, "max_histogram_bytes"_a)
      .def(
          "constrain",
          [](SplitSearch& self, const TreeConstraints& constraints) {
            require_features(constraints, size_t(self.layout()->n_features));
            self.constrain(constraints);
          },
          "constraints"_a, "Set the constraints of all trees to come.")
      .def(
          "histogram",
          [](const SplitSearch& self, int node) -> std::optional<Array2<int64_t>> {
            require(node >= 0 && size_t(node) < self.nodes().size(), "no such node");
            std::vector<int64_t> cells(size_t(self.layout()->n_cells) * 3);
            if (!self.histogram(node, cells.data())) return std::nullopt;
            return to_numpy2(std::move(cells), 3);
          },
          "node"_a, "(n_cells, 3): gradient, hessian and count of each bin in a node; None if it is not kept.");
  bind_summed(type);
  bind_fused(type);
  bind_nodes(type, [](SplitSearch& self) -> TreeNodes& { return self.nodes(); });
}

// SortedTree

OwnedSorted make_sorted(std::vector<In2<uint32_t>> columns, std::vector<int64_t> n_values, int n_threads, int proposal, int n_quantiles) {
  require(proposal >= 0 && proposal <= 2 && n_quantiles >= 1, "no such proposal");
  require(!columns.empty() && columns.size() == n_values.size(), "one number of values for each column");
  const int64_t n = int64_t(columns[0].shape(0));
  std::vector<const Ranked*> lists;
  std::vector<uint8_t> seen(n);
  for (size_t f = 0; f < columns.size(); ++f) {
    require(int64_t(columns[f].shape(0)) == n && columns[f].shape(1) == 2, "columns must be (n_rows, 2)");
    auto* rows = reinterpret_cast<const Ranked*>(columns[f].data());
    std::fill(seen.begin(), seen.end(), 0);
    for (int64_t i = 0; i < n; ++i) {
      require(int64_t(rows[i].row) < n && !seen[rows[i].row]++, "every row once in each column");
      require(rows[i].rank == kMissingRank || int64_t(rows[i].rank) < n_values[f], "a rank out of range");
      require(i == 0 || rows[i - 1].rank <= rows[i].rank, "columns must be sorted by rank");
    }
    lists.push_back(rows);
  }
  return {std::move(columns), {}, SortedTree(std::move(lists), std::move(n_values), n, n_threads, Proposal(proposal), n_quantiles)};
}

void bind_sorted(nb::module_& m) {
  nb::class_<OwnedSorted> type(m, "SortedTree", "A growing tree on rows that are sorted by every feature.");
  type.def(
          "__init__",
          [](OwnedSorted* self, std::vector<In2<uint32_t>> columns, std::vector<int64_t> n_values, int n_threads, int proposal,
             int n_quantiles) {
            new (self) OwnedSorted(make_sorted(std::move(columns), std::move(n_values), n_threads, proposal, n_quantiles));
          },
          "columns"_a, "n_values"_a, "n_threads"_a, "proposal"_a = 0, "n_quantiles"_a = 1)
      .def(
          "constrain",
          [](OwnedSorted& self, const TreeConstraints& constraints) {
            require_features(constraints, size_t(self.tree.n_features()));
            require(constraints.kinds.empty(), "sorted columns have no kind of category");
            self.tree.constrain(constraints);
          },
          "constraints"_a, "Set the constraints of all trees to come.")
      .def(
          "start",
          [](OwnedSorted& self, Bytes gradients, const HistogramFormat& format, const SplitRules& rules, int max_depth, uint64_t key,
             Allowed allowed, std::optional<In<int64_t>> sample) {
            const int64_t n = self.tree.n_rows();
            require_gradients(gradients, format, n);
            require_allowed(allowed, self.tree.n_features());
            for (size_t i = 0; sample && i < sample->size(); ++i) {
              const int64_t row = sample->data()[i];
              require(row >= 0 && row < n && (i == 0 || row > sample->data()[i - 1]), "sample must be rows in ascending order");
            }
            require(!sample || sample->size() > 0, "sample must have a row");
            self.gradients = gradients;
            {
              nb::gil_scoped_release free;
              self.tree.start(gradients.data(), format, rules, max_depth, key, data_of(allowed), data_of(sample), size_of(sample));
            }
            return self.tree.nodes()[0].split.gain;
          },
          "gradients"_a, "format"_a, "rules"_a, "max_depth"_a, "key"_a, "allowed"_a = nb::none(), "sample"_a = nb::none(),
          "Begin a tree. Returns the gain of the root's best split.")
      .def(
          "advance",
          [](OwnedSorted& self, const std::vector<int>& nodes, bool search, AllowedOf allowed) {
            require_splits(self.tree.nodes(), nodes, allowed, self.tree.n_features());
            int first;
            {
              nb::gil_scoped_release free;
              first = self.tree.advance(nodes, search, data_of(allowed));
            }
            return gains_of(self.tree.nodes(), first, 2 * int(nodes.size()));
          },
          "nodes"_a, "search"_a, "allowed"_a = nb::none(), "Split nodes. Returns the first child, and the gains of the children.")
      .def(
          "search_again",
          [](OwnedSorted& self, int node, Allowed allowed) {
            require_leaf(self.tree.nodes(), node);
            require_allowed(allowed, self.tree.n_features());
            {
              nb::gil_scoped_release free;
              self.tree.search_again(node, data_of(allowed));
            }
            return self.tree.nodes()[node].split.gain;
          },
          "node"_a, "allowed"_a = nb::none(), "The gain of a leaf whose limits have changed.")
      .def(
          "force",
          [](OwnedSorted& self, int node, int feature, int bin, bool missing_left) {
            require_leaf(self.tree.nodes(), node);
            const Split split = make_split(feature, bin, missing_left, self.tree.n_features());
            nb::gil_scoped_release free;
            return self.tree.force(node, split);
          },
          "node"_a, "feature"_a, "bin"_a, "missing_left"_a,
          "Make this the split of a node, whatever its gain. False if a child would be empty.")
      .def(
          "leaf_sums",
          [](OwnedSorted& self, In<int64_t> leaves, Bytes leaf_of_row, int leaf_size) {
            const TreeNodes& nodes = self.tree.nodes();
            return sum_leaves(
                leaves, leaf_of_row, leaf_size, self.tree.n_rows(),
                [&](int64_t leaf) { return leaf >= 0 && leaf < int64_t(nodes.size()) && nodes[int(leaf)].left < 0; },
                [&](const std::vector<int>& chosen, Sums* sums) { self.tree.leaf_sums(chosen, sums, leaf_of_row.data(), leaf_size); });
          },
          "leaves"_a, "leaf_of_row"_a, "leaf_size"_a,
          "(3, n_leaves): exact sums of the leaves' gradients, hessians and rows. Writes the number of its leaf for each row.");
  bind_nodes(type, [](OwnedSorted& self) -> TreeNodes& { return self.tree.nodes(); });
}

}  // namespace

void bind_growing(nb::module_& m) {
  bind_columns(m);
  bind_partition(m);
  bind_search(m);
  bind_sorted(m);
}

}  // namespace sapwood
