// SortedTree: a growing tree on rows that are sorted by every feature.
#include "grow/sorted.hpp"

#include "bindings/growing.hpp"

namespace sapwood {
namespace {

// A SortedTree, and the arrays that live as long as it does.
struct OwnedSorted {
  std::vector<In2<uint32_t>> columns;
  Bytes gradients;
  SortedTree tree;
};

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

}  // namespace

void bind_sorted(nb::module_& m) {
  nb::class_<OwnedSorted> type(m, "SortedTree", "A growing tree on rows that are sorted by every feature.");
  type.def(
          "__init__",
          [](OwnedSorted* self, ListOf<In2<uint32_t>> columns, ListOf<int64_t> n_values, int n_threads, int proposal, int n_quantiles) {
            new (self)
                OwnedSorted(make_sorted(to_vector<In2<uint32_t>>(columns), to_vector<int64_t>(n_values), n_threads, proposal, n_quantiles));
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
          [](OwnedSorted& self, Bytes gradients, const TreeSettings& settings, Allowed allowed, std::optional<In<int64_t>> sample) {
            const int64_t n = self.tree.n_rows();
            require_gradients(gradients, settings.format, n);
            require_allowed(allowed, self.tree.n_features());
            for (size_t i = 0; sample && i < sample->size(); ++i) {
              const int64_t row = sample->data()[i];
              require(row >= 0 && row < n && (i == 0 || row > sample->data()[i - 1]), "sample must be rows in ascending order");
            }
            require(!sample || sample->size() > 0, "sample must have a row");
            self.gradients = gradients;
            {
              const Released free;
              self.tree.start(gradients.data(), settings, data_of(allowed), data_of(sample), size_of(sample));
            }
            return self.tree.nodes()[0].split.gain;
          },
          "gradients"_a, "settings"_a, "allowed"_a = nb::none(), "sample"_a = nb::none(),
          "Begin a tree. Returns the gain of the root's best split.")
      .def(
          "advance",
          [](OwnedSorted& self, ListOf<int> chosen, bool search, AllowedOf allowed) {
            const std::vector<int> nodes = to_vector<int>(chosen);
            require_splits(self.tree.nodes(), nodes, allowed, self.tree.n_features());
            int first;
            {
              const Released free;
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
              const Released free;
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
            const Released free;
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
  def_nodes(type, [](OwnedSorted& self) -> TreeNodes& { return self.tree.nodes(); });
}

}  // namespace sapwood
