// SplitSearch: the best splits of a growing tree's nodes.
#include "bindings/growing.hpp"
#include "grow/split_search.hpp"

namespace sapwood {
namespace {

void require_grown(const SplitSearch& search, const OwnedPartition& partition) {
  require(search.grows_on(partition.rows), "the tree was not begun with this partition");
  require_loaded(partition);
}

void bind_summed(nb::class_<SplitSearch>& type) {
  type.def(
          "start",
          [](SplitSearch& self, In<int64_t> sums, const TreeSettings& settings, Allowed allowed) {
            require(sums.size() == 3 && sums.data()[2] >= 0, "sums must be gradient, hessian and count");
            require(sums.data()[2] < int64_t(1) << settings.format.count_bits, "count_bits too small");
            require_allowed(allowed, self.layout()->n_features);
            const DefaultFloatMode mode;
            const Sums root{sums.data()[0], sums.data()[1], sums.data()[2]};
            return self.start(root, settings, data_of(allowed));
          },
          "sums"_a, "settings"_a, "allowed"_a = nb::none(), "Begin a tree whose root has these sums.")
      .def(
          "begin",
          [](SplitSearch& self, ListOf<int> chosen, bool search, AllowedOf allowed) {
            const std::vector<int> nodes = to_vector<int>(chosen);
            require_splits(self.nodes(), nodes, allowed, self.layout()->n_features);
            const DefaultFloatMode mode;
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
            const Released free;
            self.take(batch, words.data());
          },
          "batch"_a, "words"_a, "Take the results of `RowPartition.apply`, summed over all partitions.")
      .def(
          "best",
          [](SplitSearch& self, const SplitBatch& batch) {
            require(self.is_open(batch, true), "not the latest step, or its words were not taken");
            {
              const Released free;
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
            const DefaultFloatMode mode;
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
          [](SplitSearch& self, OwnedPartition& partition, Bytes gradients, const TreeSettings& settings, Allowed allowed,
             std::optional<In<int64_t>> sample) {
            require_same(*self.layout(), *partition.rows.layout());
            require_loaded(partition);
            require_gradients(gradients, settings.format, partition.rows.n_rows());
            require_allowed(allowed, self.layout()->n_features);
            require_sample(partition, sample);
            require(!sample || sample->size() > 0, "sample must have a row");
            partition.gradients = gradients;
            {
              const Released free;
              self.start(partition.rows, gradients.data(), settings, data_of(allowed), data_of(sample), size_of(sample));
            }
            return self.nodes()[0].split.gain;
          },
          "partition"_a, "gradients"_a, "settings"_a, "allowed"_a = nb::none(), "sample"_a = nb::none(),
          "Begin a tree on a partition that has all rows. Returns the gain of the root's best split.")
      .def(
          "advance",
          [](SplitSearch& self, OwnedPartition& partition, ListOf<int> chosen, bool search, AllowedOf allowed) {
            const std::vector<int> nodes = to_vector<int>(chosen);
            require_splits(self.nodes(), nodes, allowed, self.layout()->n_features);
            require_grown(self, partition);
            int first;
            {
              const Released free;
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
              const Released free;
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
            const Released free;
            return self.force(partition.rows, node, split);
          },
          "partition"_a, "node"_a, "feature"_a, "bin"_a, "missing_left"_a,
          "Make this the split of a node, whatever its gain. False if a child would be empty.");
}

}  // namespace

void bind_search(nb::module_& m) {
  nb::class_<SplitSearch> type(m, "SplitSearch", "The best splits of a growing tree's nodes, from sums over all rows of the data set.");
  type.def(
          "__init__",
          [](SplitSearch* self, nb::handle_t<BinLayout> layout, int n_threads, int64_t max_histogram_bytes) {
            new (self) SplitSearch(share<BinLayout>(layout), n_threads, max_histogram_bytes);
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
  def_nodes(type, [](SplitSearch& self) -> TreeNodes& { return self.nodes(); });
}

}  // namespace sapwood
