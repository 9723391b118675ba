// Trees that grow.
#include <limits>
#include <memory>

#include "bindings/bindings.hpp"
#include "grow/sorted.hpp"
#include "grow/workspace.hpp"

namespace sapwood {
namespace {

// A growing tree, and the arrays that must live as long as it does.
template <class Tree>
struct Owned {
  std::vector<Bytes> pages;
  std::vector<Lists> lists;
  std::vector<In2<uint32_t>> columns;
  Bytes records;
  std::unique_ptr<Tree> workspace;
};
using OwnedWorkspace = Owned<Workspace>;
using OwnedSorted = Owned<SortedTree>;

Layout make_layout(const In<int32_t>& n_bins, const In<uint8_t>& missing, const In<int32_t>& missing_bin, int width, int stride,
                   const Places* places) {
  Layout layout;
  layout.n_features = int(n_bins.size());
  require(layout.n_features > 0 && width > 0 && width <= 64 && stride >= (width + 3) / 4 * 4, "width and stride do not fit");
  require(missing.size() == n_bins.size() && missing_bin.size() == n_bins.size(), "one entry for each feature");
  layout.places = places ? *places : plain_places(missing_bin);
  require(int(layout.places.of.size()) == layout.n_features, "places do not fit");
  layout.width = width;
  layout.stride = stride;
  layout.n_groups = (layout.n_columns() + width - 1) / width;
  layout.n_bins.assign(n_bins.data(), n_bins.data() + n_bins.size());
  layout.missing.assign(missing.data(), missing.data() + missing.size());
  layout.missing_bin.assign(missing_bin.data(), missing_bin.data() + missing_bin.size());
  for (int f = 0; f < layout.n_features; ++f) {
    Place& place = layout.places.of[f];
    const int n = layout.n_bins[f];
    require(n >= 1 && n <= 256 && layout.missing_bin[f] >= 0 && layout.missing_bin[f] <= 255 &&
                (!layout.missing[f] || layout.missing_bin[f] == n - 1),
            "a feature has 1 to 256 bins, the missing one last");
    if (place.common == kNoCommon) {
      layout.places.n_codes[place.column] = place.n_stored = n;
    } else {
      require(layout.missing_bin[f] == n - layout.missing[f] && place.n_stored == layout.missing_bin[f], "places do not fit");
    }
  }
  uint32_t unit = 0;
  for (int c = 0; c < layout.n_columns(); ++c) {
    layout.column_begin.push_back(uint32_t(layout.n_cells));
    layout.n_cells += layout.places.n_codes[c];
    layout.member_begin.push_back(unit);
    while (unit < layout.places.members.size() && layout.places.of[layout.places.members[unit]].column == c) ++unit;
  }
  layout.column_begin.push_back(uint32_t(layout.n_cells));
  for (; unit < layout.places.members.size(); ++unit) {
    layout.beside_unit.insert(layout.beside_unit.end(), layout.places.of[layout.places.members[unit]].n_stored,
                              uint32_t(layout.member_begin.size()));
    layout.member_begin.push_back(unit);
  }
  layout.member_begin.push_back(unit);
  layout.n_cells += layout.places.n_beside;
  layout.unit_begin.assign(layout.column_begin.begin(), layout.column_begin.end() - 1);
  for (int u = layout.n_columns(); u < layout.n_units(); ++u) {
    layout.unit_begin.push_back(layout.cell(int(layout.places.members[layout.member_begin[u]])));
  }
  layout.unit_begin.push_back(uint32_t(layout.n_cells));
  require(layout.n_cells < int64_t(1) << 31, "too many bins in all");
  // Padding counts into a cell of its own at the end.
  const int padded = layout.padded_width();
  layout.offsets.assign(size_t(layout.n_groups) * padded, uint32_t(layout.n_cells));
  for (int c = 0; c < layout.n_columns(); ++c) layout.offsets[size_t(c / width) * padded + c % width] = layout.column_begin[c];
  return layout;
}

void check_page(const Layout& layout, const Bytes& page, int64_t n_rows) {
  require(n_rows >= 0 && n_rows < int64_t(1) << 32 && int64_t(page.size()) >= int64_t(layout.n_groups) * n_rows * layout.stride,
          "page too small");
  // Every code becomes an index into a histogram.
  for (int group = 0; group < layout.n_groups; ++group) {
    const int first = group * layout.width, last = std::min(layout.n_columns(), first + layout.width);
    const int32_t* n_codes = layout.places.n_codes.data();
    for (int64_t row = 0; row < n_rows; ++row) {
      const uint8_t* codes = page.data() + (int64_t(group) * n_rows + row) * layout.stride;
      int bad = 0;
      for (int c = first; c < last; ++c) bad |= codes[c - first] >= n_codes[c];
      for (int k = last - first; k < layout.padded_width(); ++k) bad |= codes[k] != 0;
      require(!bad, "a page holds a bin that its feature does not have");
    }
  }
}

// A value of each node.
template <class F>
auto column(const std::vector<Node>& nodes, F&& of) {
  std::vector<decltype(of(nodes[0]))> values(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) values[i] = of(nodes[i]);
  return to_numpy(std::move(values));
}

nb::dict tree_columns(const std::vector<Node>& nodes) {
  nb::dict d;
  d["feature"] = column(nodes, [](const Node& n) { return n.left >= 0 ? n.split.feature : int32_t(-1); });
  d["bin"] = column(nodes, [](const Node& n) { return n.left >= 0 ? n.split.bin : int32_t(0); });
  d["left"] = column(nodes, [](const Node& n) { return n.left; });
  d["right"] = column(nodes, [](const Node& n) { return n.right; });
  d["missing_left"] = column(nodes, [](const Node& n) { return uint8_t(n.left >= 0 && n.split.missing_left); });
  d["by_levels"] = column(nodes, [](const Node& n) { return uint8_t(n.left >= 0 && n.split.by_levels); });
  d["count"] = column(nodes, [](const Node& n) { return n.sums.count; });
  return d;
}

// What both kinds of workspaces can do: see Workspace.
template <class Tree>
void bind_tree(nb::class_<Owned<Tree>>& type) {
  type.def(
          "start",
          [](Owned<Tree>& self, Bytes records, int mode, int count_bits, int gradient_shift, int hessian_shift, double l2,
             double hessian_unit, double min_hessian, double min_gain, double noise, int64_t min_count, int max_depth, uint64_t key,
             std::optional<In<uint8_t>> allowed, double gradient_unit, std::optional<In<int64_t>> sample) {
            const int64_t n = self.workspace->n_rows();
            require(mode >= 0 && mode <= 2, "mode must be 0, 1 or 2");
            require(records.size() == size_t(n) * (Mode(mode) == Mode::kSingle ? sizeof(Single) : sizeof(Pair)), "records do not fit");
            require(count_bits > 0 && count_bits < 48 && n < int64_t(1) << count_bits, "count_bits too small");
            require(gradient_shift >= 0 && gradient_shift < 31 && hessian_shift >= 0 && hessian_shift < 31, "shift out of range");
            require(!allowed || int(allowed->size()) == self.workspace->n_features(), "allowed must have one entry for each feature");
            for (size_t i = 0; sample && i < sample->size(); ++i) {
              const int64_t row = sample->data()[i];
              require(row >= 0 && row < n && (i == 0 || row > sample->data()[i - 1]), "sample must be rows in ascending order");
            }
            require(!sample || sample->size() > 0, "sample must have a row");
            require(gradient_unit > 0, "gradient_unit must be positive");
            self.records = records;
            const Format format{Mode(mode), count_bits, gradient_shift, hessian_shift};
            const Rules rules{l2, hessian_unit, min_hessian, min_gain, noise, std::max<int64_t>(1, min_count), gradient_unit};
            {
              nb::gil_scoped_release free;
              self.workspace->start(records.data(), format, rules, max_depth, key, allowed ? allowed->data() : nullptr,
                                    sample ? sample->data() : nullptr, sample ? int64_t(sample->size()) : 0);
            }
            return self.workspace->nodes()[0].split.gain;
          },
          "records"_a, "mode"_a, "count_bits"_a, "gradient_shift"_a, "hessian_shift"_a, "l2"_a, "hessian_unit"_a, "min_hessian"_a,
          "min_gain"_a, "noise"_a, "min_count"_a, "max_depth"_a, "key"_a, "allowed"_a.none(), "gradient_unit"_a = 1.0,
          "sample"_a = nb::none())
      .def(
          "constrain",
          [](Owned<Tree>& self, double l1, double max_step, double smooth, double score_noise, bool extra, bool joint, bool neighbours,
             std::optional<In<double>> weights, std::optional<In<int8_t>> monotonic, std::optional<In<uint8_t>> kinds,
             double category_smooth, double category_l2, int64_t min_level_rows) {
            const size_t n = size_t(self.workspace->n_features());
            require(l1 >= 0 && max_step > 0 && smooth >= 0 && score_noise >= 0, "rules must not be negative");
            require((!weights || weights->size() == n) && (!monotonic || monotonic->size() == n), "one entry for each feature");
            require(category_smooth >= 0 && category_l2 >= 0, "rules must not be negative");
            Extras extras{l1, max_step, smooth, score_noise, extra, joint, neighbours, {}, {}, {}, {}};
            extras.categories = {category_smooth, category_l2, min_level_rows};
            require(!kinds || (kinds->size() == n && !std::is_same_v<Tree, SortedTree>), "one kind for each feature, and bins");
            for (size_t f = 0; kinds && f < n; ++f) {
              require(kinds->data()[f] <= 2, "no such kind of feature");
              require(!monotonic || !monotonic->data()[f] || !kinds->data()[f], "a category cannot be monotonic");
              extras.kinds.push_back(Kind(kinds->data()[f]));
            }
            if (weights) extras.weights.assign(weights->data(), weights->data() + n);
            if (monotonic) extras.monotonic.assign(monotonic->data(), monotonic->data() + n);
            self.workspace->constrain(std::move(extras));
          },
          "l1"_a = 0.0, "max_step"_a = Extras::kNoLimit, "smooth"_a = 0.0, "score_noise"_a = 0.0, "extra"_a = false, "joint"_a = false,
          "neighbours"_a = false, "weights"_a = nb::none(), "monotonic"_a = nb::none(), "kinds"_a = nb::none(), "category_smooth"_a = 0.0,
          "category_l2"_a = 0.0, "min_level_rows"_a = 1)
      .def(
          "force",
          [](Owned<Tree>& self, int node, int feature, int bin, bool missing_left) {
            const auto& nodes = self.workspace->nodes();
            require(node >= 0 && size_t(node) < nodes.size() && nodes[node].left < 0, "node cannot be split");
            require(feature >= 0 && feature < self.workspace->n_features() && bin >= 0, "feature or bin out of range");
            nb::gil_scoped_release free;
            return self.workspace->force(node, feature, bin, missing_left);
          },
          "node"_a, "feature"_a, "bin"_a, "missing_left"_a)
      .def(
          "advance",
          [](Owned<Tree>& self, const std::vector<int>& nodes, bool search, std::optional<In2<uint8_t>> allowed) {
            const auto& all = self.workspace->nodes();
            for (size_t i = 0; i < nodes.size(); ++i) {
              const int node = nodes[i];
              require(node >= 0 && size_t(node) < all.size() && all[node].left < 0 && all[node].split.gain > 0, "node cannot be split");
              require(std::find(nodes.begin(), nodes.begin() + i, node) == nodes.begin() + i, "node given twice");
            }
            require(!allowed || (allowed->shape(0) == 2 * nodes.size() && int(allowed->shape(1)) == self.workspace->n_features()),
                    "allowed must have one row for each child");
            int first;
            {
              nb::gil_scoped_release free;
              first = self.workspace->advance(nodes, search, allowed ? allowed->data() : nullptr);
            }
            std::vector<double> gains;
            for (size_t i = first; i < self.workspace->nodes().size(); ++i) gains.push_back(self.workspace->nodes()[i].split.gain);
            return std::pair(first, gains);
          },
          "nodes"_a, "search"_a, "allowed"_a.none())
      .def(
          "finish",
          [](Owned<Tree>& self, In<int64_t> given, Bytes leaf_of_row, int leaf_size) {
            const int64_t n = self.workspace->n_rows();
            require(leaf_size == 1 || leaf_size == 2 || leaf_size == 4, "leaf_size must be 1, 2 or 4");
            require(leaf_of_row.size() == size_t(n) * leaf_size, "leaf_of_row does not fit");
            require(leaf_size == 4 || given.size() <= size_t(1) << (8 * leaf_size), "leaf_size too small");
            const std::vector<Node>& nodes = self.workspace->nodes();
            for (size_t i = 0; i < given.size(); ++i) {
              const int64_t leaf = given.data()[i];
              require(leaf >= 0 && leaf < int64_t(nodes.size()) && nodes[leaf].left < 0, "not a leaf");
            }
            const std::vector<int> leaves(given.data(), given.data() + given.size());
            std::vector<Sums> sums(leaves.size());
            {
              nb::gil_scoped_release free;
              self.workspace->finish(leaves, sums.data(), leaf_of_row.data(), leaf_size);
            }
            std::vector<int64_t> g, h, count;
            for (const Sums& s : sums) g.push_back(s.g), h.push_back(s.h), count.push_back(s.count);
            return nb::make_tuple(to_numpy(std::move(g)), to_numpy(std::move(h)), to_numpy(std::move(count)));
          },
          "leaves"_a, "leaf_of_row"_a, "leaf_size"_a)
      .def(
          "grown",
          // What becomes a tree, for each node; and `leaves`, `inner`: the numbers of nodes, and of each leaf its limits.
          //   unit  what one unit of a histogram's gradient is worth
          [](const Owned<Tree>& self, double unit) {
            const std::vector<Node>& nodes = self.workspace->nodes();
            std::vector<int64_t> leaves, inner;
            for (size_t i = 0; i < nodes.size(); ++i) (nodes[i].left < 0 ? leaves : inner).push_back(int64_t(i));
            auto of_leaves = [&](auto of) {
              std::vector<decltype(of(nodes[0]))> values;
              for (int64_t leaf : leaves) values.push_back(of(nodes[leaf]));
              return to_numpy(std::move(values));
            };
            nb::dict d = tree_columns(nodes);
            // The square of a target may well be too large.
            constexpr double kLargest = std::numeric_limits<double>::max();
            d["gain"] = column(nodes, [=](const Node& n) { return n.left >= 0 ? std::min(n.split.gain * unit * unit, kLargest) : 0.0; });
            d["lower"] = of_leaves([](const Node& n) { return n.limits.lower; });
            d["upper"] = of_leaves([](const Node& n) { return n.limits.upper; });
            d["anchor"] = of_leaves([](const Node& n) { return n.limits.anchor; });
            d["leaves"] = to_numpy(std::move(leaves));
            d["inner"] = to_numpy(std::move(inner));
            return d;
          },
          "unit"_a)
      .def("nodes",
           [](const Owned<Tree>& self) {
             const std::vector<Node>& nodes = self.workspace->nodes();
             auto column = [&](auto of) { return sapwood::column(nodes, of); };
             nb::dict d = tree_columns(nodes);
             d["gain"] = column([](const Node& n) { return n.left >= 0 ? n.split.gain : 0.0; });
             d["depth"] = column([](const Node& n) { return n.depth; });
             d["gradient"] = column([](const Node& n) { return n.sums.g; });  // in histogram units, as is the hessian
             d["hessian"] = column([](const Node& n) { return n.sums.h; });
             d["lower"] = column([](const Node& n) { return n.limits.lower; });
             d["upper"] = column([](const Node& n) { return n.limits.upper; });
             d["step"] = column([](const Node& n) { return n.limits.value; });  // its value before the learning rate, where rules shape it
             d["anchor"] = column([](const Node& n) { return n.limits.anchor; });  // the parent's value
             return d;
           })
      .def("sets",  // (n, 8): the levels that go left, of the nodes that are split by levels
           [](const Owned<Tree>& self) {
             std::vector<uint32_t> bits;
             for (const Node& n : self.workspace->nodes()) {
               if (n.left >= 0 && n.split.by_levels)
                 bits.insert(bits.end(), std::begin(n.split.levels.bits), std::end(n.split.levels.bits));
             }
             return nb::cast(to_numpy(std::move(bits))).attr("reshape")(-1, 8);
           })
      .def(
          "limit",
          [](Owned<Tree>& self, int node, double lower, double upper) {
            require(node >= 0 && size_t(node) < self.workspace->nodes().size() && lower <= upper, "no such node, or no such limits");
            self.workspace->set_limits(node, lower, upper);
          },
          "node"_a, "lower"_a, "upper"_a)
      .def(
          "search_again",
          [](Owned<Tree>& self, int node, std::optional<In<uint8_t>> allowed) {
            const auto& nodes = self.workspace->nodes();
            require(node >= 0 && size_t(node) < nodes.size() && nodes[node].left < 0, "not a leaf");
            require(!allowed || int(allowed->size()) == self.workspace->n_features(), "allowed must have one entry for each feature");
            {
              nb::gil_scoped_release free;
              self.workspace->search_again(node, allowed ? allowed->data() : nullptr);
            }
            return self.workspace->nodes()[node].split.gain;
          },
          "node"_a, "allowed"_a.none())
      .def(
          "split_features",
          [](const Owned<Tree>& self, const std::vector<int>& nodes) {
            std::vector<int> features;
            for (int node : nodes) {
              require(node >= 0 && size_t(node) < self.workspace->nodes().size(), "no such node");
              features.push_back(self.workspace->nodes()[node].split.feature);
            }
            return features;
          },
          "nodes"_a);
}

}  // namespace

void bind_growing(nb::module_& m) {
  nb::class_<OwnedWorkspace> workspace(m, "Workspace");
  bind_tree(workspace);
  workspace
      .def(
          "__init__",
          [](OwnedWorkspace* self, In<int32_t> n_bins, In<uint8_t> missing, In<int32_t> missing_bin, int width, int stride,
             std::vector<Bytes> pages, std::vector<int64_t> page_rows, int n_threads, int64_t max_histogram_bytes, const Places* places,
             std::vector<Lists> lists) {
            Layout layout = make_layout(n_bins, missing, missing_bin, width, stride, places);
            require(pages.size() == page_rows.size() && !pages.empty(), "one number of rows for each page");
            require(lists.size() == (layout.any_beside() ? pages.size() : 0), "one pair of lists for each page, if any");
            std::vector<Page> list;
            int64_t start = 0;
            for (size_t i = 0; i < pages.size(); ++i) {
              check_page(layout, pages[i], page_rows[i]);
              if (!lists.empty()) check_lists(layout.places, lists[i], page_rows[i]);
              const bool any = !lists.empty();
              list.push_back(
                  {pages[i].data(), page_rows[i], start, any ? lists[i].first.data() : nullptr, any ? lists[i].second.data() : nullptr});
              start += page_rows[i];
            }
            new (self) OwnedWorkspace();
            self->pages = std::move(pages);
            self->lists = std::move(lists);
            self->workspace = std::make_unique<Workspace>(std::move(layout), std::move(list), n_threads, max_histogram_bytes);
          },
          "n_bins"_a, "missing"_a, "missing_bin"_a, "width"_a, "stride"_a, "pages"_a, "page_rows"_a, "n_threads"_a, "max_histogram_bytes"_a,
          "places"_a = nb::none(), "lists"_a = std::vector<Lists>{})
      .def(
          "histogram",
          [](const OwnedWorkspace& self, int node) -> nb::object {
            require(node >= 0 && size_t(node) < self.workspace->nodes().size(), "no such node");
            std::vector<int64_t> cells(size_t(self.workspace->layout().n_cells) * 3);
            if (!self.workspace->histogram(node, cells.data())) return nb::none();
            return nb::cast(to_numpy(std::move(cells))).attr("reshape")(-1, 3);
          },
          "node"_a);
  nb::class_<OwnedSorted> sorted(m, "SortedTree");
  bind_tree(sorted);
  sorted.def(
      "__init__",
      [](OwnedSorted* self, std::vector<In2<uint32_t>> columns, std::vector<int64_t> n_values, int n_threads, int proposal,
         int n_quantiles) {
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
        new (self) OwnedSorted();
        self->columns = std::move(columns);
        self->workspace =
            std::make_unique<SortedTree>(std::move(lists), std::move(n_values), n, n_threads, Proposal(proposal), n_quantiles);
      },
      "columns"_a, "n_values"_a, "n_threads"_a, "proposal"_a = 0, "n_quantiles"_a = 1);
}

}  // namespace sapwood
