// Trained trees: prediction and explanation.
#include "bindings/bindings.hpp"
#include "bindings/leaf_arrays.hpp"
#include "predict/shap.hpp"

namespace sapwood {
namespace {

constexpr double kMaxWeight = 1e300;  // of the training rows of a node: sums of two are finite

// Limits of what explaining a row may cost: for each node of the model, and for any model.
constexpr int64_t kStepsPerNode = 64, kFreeSteps = int64_t(1) << 24;
constexpr double kSquaresPerNode = 64.0 * 64, kCubesPerNode = 64.0 * 64 * 64, kFreeWork = double(int64_t(1) << 28);

// The structure of trees; the arrays live as long as it does. That they are trees is checked once, so that the kernels need not; features,
// bins and sets are checked where it is known how many there are.
struct OwnedTrees {
  In<int64_t> begin;
  In<int32_t> feature;
  In<double> threshold;
  In<int32_t> bin, left, right;
  In<uint8_t> missing_left;
  std::optional<In2<uint32_t>> sets;

  TreeArrays arrays() const {
    static_assert(sizeof(LevelSet) == 8 * sizeof(uint32_t));
    return {.begin = begin.data(),
            .feature = feature.data(),
            .threshold = threshold.data(),
            .left = left.data(),
            .right = right.data(),
            .missing_left = missing_left.data(),
            .bin = bin.data(),
            .sets = sets ? reinterpret_cast<const LevelSet*>(sets->data()) : nullptr,
            .n_trees = int64_t(begin.size()) - 1,
            .n_nodes = int64_t(feature.size()),
            .n_sets = sets ? int64_t(sets->shape(0)) : 0};
  }

  void check() const {
    const size_t n_nodes = feature.size();
    require(begin.size() >= 1 && begin.data()[0] == 0 && begin.data()[begin.size() - 1] == int64_t(n_nodes), "trees must cover the nodes");
    require(threshold.size() == n_nodes && bin.size() == n_nodes && left.size() == n_nodes && right.size() == n_nodes &&
                missing_left.size() == n_nodes,
            "node arrays must have the same length");
    require(!sets || sets->shape(1) == 8, "sets must be (n_sets, 8)");
    std::vector<uint8_t> parents;
    for (size_t t = 0; t + 1 < begin.size(); ++t) {
      const int64_t first = begin.data()[t], n = begin.data()[t + 1] - first;
      require(n > 0 && first + n <= int64_t(n_nodes), "a tree has at least one node, and they cover the arrays");
      parents.assign(size_t(n), 0);
      for (int64_t i = 0; i < n; ++i) {
        const int32_t l = left.data()[first + i], r = right.data()[first + i];
        if (feature.data()[first + i] < 0) continue;
        require(l > i && l < n && r > i && r < n && l != r, "a node is out of range");
        require(!parents[l]++ && !parents[r]++, "a node has two parents");
        require(threshold.data()[first + i] == threshold.data()[first + i], "a threshold is not a number");
      }
      for (int64_t i = 1; i < n; ++i) require(parents[i], "a node has no parent");
    }
  }

  // Checks the features and sets of nodes: is_category(feature) tells which features are split by sets of levels.
  template <class IsCategory>
  void check_features(int n_features, IsCategory&& is_category) const {
    const TreeArrays trees = arrays();
    for (int64_t i = 0; i < trees.n_nodes; ++i) {
      const int32_t f = trees.feature[i];
      require(f < n_features, "a feature is out of range");
      require(f < 0 || !is_category(f) || (trees.bin[i] >= 0 && trees.bin[i] < trees.n_sets), "no such set of levels");
    }
  }
};

// Walks one tree over a binned page and adds the leaf values, one or one for each output, to raw.
//   kinds  (n_features,): not 0 where the nodes of a feature split by sets of levels; null: nowhere   IN
void add_tree(const OwnedPage& owned_page, const OwnedTrees& owned, const OwnedLeaves& leaves, std::optional<In<uint8_t>> kinds,
              nb::ndarray<double, nb::device::cpu> raw, int n_threads) {
  const Planes to = as_planes(raw);
  const BinLayout& layout = *owned_page.layout;
  const Page& page = owned_page.page;
  const TreeArrays tree = owned.arrays();
  const int64_t n_nodes = tree.n_nodes;
  require(tree.n_trees == 1, "there must be one tree");
  require(!kinds || int(kinds->size()) == layout.n_features, "kinds must have one entry for each feature");
  auto is_category = [&](int32_t f) { return kinds && kinds->data()[f]; };
  owned.check_features(layout.n_features, is_category);
  leaves.check_features(layout.n_features, is_category);
  const LeafArrays values = leaves.arrays(n_nodes, to.n_outputs);
  require(values.n_values == to.n_outputs, "a leaf must have a value for each output");
  require(to.n == page.n_rows, "page and raw do not fit");
  const std::vector<CodeTable<double>> inputs = input_tables(values.linear, layout.columns, layout.missing_bin.data(), layout.n_features);
  const Slopes slopes = values.linear.n_slopes ? Slopes(values.linear, n_nodes) : Slopes();
  std::vector<Sides> sides(n_nodes);
  for (int64_t i = 0; i < n_nodes; ++i) {
    const int32_t f = tree.feature[i];
    if (f < 0) continue;
    const int missing = layout.missing_bin[f];
    const LevelSet* levels = kinds && kinds->data()[f] ? tree.sets + tree.bin[i] : nullptr;
    sides[i].fill(layout.columns.features[f], missing + 1,
                  [&](int b) { return b == missing ? tree.missing_left[i] : uint8_t(levels ? levels->has(b) : b <= tree.bin[i]); });
  }
  over_rows(page.n_rows, n_threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int32_t i = 0;
      for (int32_t f; (f = tree.feature[i]) >= 0;) {
        const FeatureStorage& storage = layout.columns.features[f];
        bool goes_left;
        if (storage.column == kRowList) {
          goes_left = side_listed(storage, sides[i], page.list_bins + page.list_begin[row], page.list_bins + page.list_begin[row + 1]);
        } else {
          const int64_t at = (int64_t(storage.column / layout.width) * page.n_rows + row) * layout.stride + storage.column % layout.width;
          goes_left = sides[i].left[page.codes[at]];
        }
        i = goes_left ? tree.left[i] : tree.right[i];
      }
      const double* own = values.value + i * to.n_outputs;
      if (!slopes.empty()) {
        double value = *own;
        for (const Slope *s = slopes.of(i), *last = slopes.end_of(i); s < last; ++s) {
          value += s->part(inputs[s->input].read(page, layout.width, layout.stride, row));
        }
        to.data[row] += value;
        continue;
      }
      for (int64_t k = 0; k < to.n_outputs; ++k) to.data[k * to.stride + row] += own[k];
    }
  });
}

}  // namespace

void bind_scoring(nb::module_& m) {
  const auto release = nb::call_guard<Released>();
  nb::class_<OwnedTrees>(m, "TreeArrays", "Structure of trees: their nodes, end to end. The arrays must not change afterwards.")
      .def(
          "__init__",
          [](OwnedTrees* self, In<int64_t> begin, In<int32_t> feature, In<double> threshold, In<int32_t> bin, In<int32_t> left,
             In<int32_t> right, In<uint8_t> missing_left, std::optional<In2<uint32_t>> sets) {
            OwnedTrees trees{begin, feature, threshold, bin, left, right, missing_left, sets};
            trees.check();
            new (self) OwnedTrees(std::move(trees));
          },
          nb::kw_only(), "begin"_a, "feature"_a, "threshold"_a, "bin"_a, "left"_a, "right"_a, "missing_left"_a, "sets"_a = nb::none());
  nb::class_<OwnedLeaves>(m, "LeafArrays", "Parameters of the leaves of trees, by node. The arrays must not change afterwards.")
      .def(
          "__init__", [](OwnedLeaves* self, Flat<double> value) { new (self) OwnedLeaves{value}; }, nb::kw_only(), "value"_a)
      .def(
          "__init__",
          [](OwnedLeaves* self, Flat<double> value, In<int32_t> n_slopes, In<int32_t> slope_input, In<double> slope,
             In<double> slope_center, In<double> slope_low, In<double> slope_high, In<int32_t> input_feature, In<int64_t> input_begin,
             In<double> input_cuts, In<double> input_values) {
            OwnedSlopes slopes{n_slopes,   slope_input,   slope,       slope_center, slope_low,
                               slope_high, input_feature, input_begin, input_cuts,   input_values};
            slopes.check();
            new (self) OwnedLeaves{value, std::move(slopes)};
          },
          nb::kw_only(), "value"_a, "n_slopes"_a, "slope_input"_a, "slope"_a, "slope_center"_a, "slope_low"_a, "slope_high"_a,
          "input_feature"_a, "input_begin"_a, "input_cuts"_a, "input_values"_a);
  m.def("add_tree", &add_tree, "page"_a, "tree"_a, "leaves"_a, "kinds"_a.none(), "raw"_a.noconvert(), "n_threads"_a, release,
        "Add the leaf values of one tree to the raw scores of a page's rows.");
  nb::class_<Scorer>(m, "Scorer", "Trees, arranged for prediction.")
      .def(
          "__init__",
          [](Scorer* self, const OwnedTrees& trees, const OwnedLeaves& leaves, int n_features, int n_outputs,
             std::optional<In<int32_t>> n_levels) {
            require(n_features > 0 && n_outputs > 0, "n_features and n_outputs must be positive");
            require(!n_levels || int(n_levels->size()) == n_features, "levels do not fit");
            for (int f = 0; n_levels && f < n_features; ++f) {
              require(n_levels->data()[f] >= 0 && n_levels->data()[f] <= 255, "a category has up to 255 levels");
            }
            const DefaultFloatMode mode;
            auto is_category = [&](int32_t f) { return n_levels && n_levels->data()[f]; };
            trees.check_features(n_features, is_category);
            leaves.check_features(n_features, is_category);
            const TreeArrays arrays = trees.arrays();
            new (self)
                Scorer(arrays, leaves.arrays(arrays.n_nodes, n_outputs), n_features, n_outputs, n_levels ? n_levels->data() : nullptr);
          },
          "trees"_a, "leaves"_a, "n_features"_a, "n_outputs"_a, "n_levels"_a = nb::none())
      .def(
          "add",
          [](const Scorer& self, AnyTable x, int64_t first, int64_t last, Out2<double> out, int n_threads) {
            const Table table = as_table(x);
            require(table.n_columns == self.n_features(), "X has another number of features");
            require(int64_t(out.shape(0)) == table.n_rows && int(out.shape(1)) == self.n_outputs(), "out does not fit");
            require(0 <= first && first <= last && last <= self.n_trees(), "trees out of range");
            require(n_threads > 0, "n_threads must be positive");
            self.add(table, first, last, n_threads, out.data());
          },
          "x"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, release, "Add the predictions of the trees [first, last) to `out`.")
      .def(
          "add_sparse",
          [](const Scorer& self, const OwnedMatrix& rows, int64_t first, int64_t last, Out2<double> out, int n_threads) {
            require(rows.matrix.n_minor == self.n_features(), "X has another number of features");
            require(int64_t(out.shape(0)) == rows.matrix.n_major && int(out.shape(1)) == self.n_outputs(), "out does not fit");
            require(0 <= first && first <= last && last <= self.n_trees(), "trees out of range");
            require(n_threads > 0, "n_threads must be positive");
            self.add(rows.matrix, first, last, n_threads, out.data());
          },
          "rows"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, release,
          "Add the predictions of the trees [first, last) to `out`, for sparse rows.")
      .def(
          "leaves",
          [](const Scorer& self, AnyTable x, int64_t first, int64_t last, Out2<int32_t> out, int n_threads) {
            const Table table = as_table(x);
            require(table.n_columns == self.n_features(), "X has another number of features");
            require(0 <= first && first <= last && last <= self.n_trees(), "trees out of range");
            require(n_threads > 0, "n_threads must be positive");
            require(int64_t(out.shape(0)) == table.n_rows && int64_t(out.shape(1)) == last - first, "out does not fit");
            self.leaves(table, first, last, n_threads, out.data());
          },
          "x"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, release, "Fill in the leaf of each row in the trees [first, last).");
  // out: (n_rows, n_outputs * width), width as each of them says.
  using Explain = void (Explainer::*)(const Table&, int64_t, int64_t, int, double*) const;
  auto explain = [](const Explainer& self, const AnyTable& x, int64_t first, int64_t last, const Out2<double>& out, int64_t width,
                    int n_threads) {
    const Table table = as_table(x);
    const Scorer& scorer = self.scorer();
    require(table.n_columns == scorer.n_features(), "X has another number of features");
    require(0 <= first && first <= last && last <= scorer.n_trees(), "trees out of range");
    require(int64_t(out.shape(0)) == table.n_rows && int64_t(out.shape(1)) == scorer.n_outputs() * width, "out does not fit");
    require(n_threads > 0, "n_threads must be positive");
    return table;
  };
  nb::class_<Explainer> explainer(m, "Explainer", "SHAP values of trees: of players, each of one or more features.");
  explainer
      .def(
          "__init__",
          [](Explainer* self, const Scorer& scorer, In<double> weight, In<int32_t> player, int n_players) {
            const int64_t n_nodes = scorer.n_nodes();
            require(int64_t(weight.size()) == n_nodes, "weight must have one number for each node");
            for (int64_t i = 0; i < n_nodes; ++i)
              require(weight.data()[i] >= 0 && weight.data()[i] <= kMaxWeight, "weights must not be negative, and finite");
            require(int(player.size()) == scorer.n_features() && n_players > 0, "player must have one number for each feature");
            for (size_t i = 0; i < player.size(); ++i)
              require(player.data()[i] >= 0 && player.data()[i] < n_players, "player out of range");
            const PathCost cost = path_cost(scorer, n_players);
            require(cost.steps <= kStepsPerNode * n_nodes + kFreeSteps && cost.squares <= kSquaresPerNode * double(n_nodes) + kFreeWork,
                    "the trees are too deep to be explained: the nodes on the way to a leaf must not be more than 64 on average");
            const DefaultFloatMode mode;
            new (self) Explainer(scorer, weight.data(), player.data(), n_players);
          },
          "scorer"_a, "weight"_a, "player"_a, "n_players"_a, nb::keep_alive<1, 2>())
      .def(
          "add_interventional",
          [=](const Explainer& self, AnyTable x, AnyTable background, int64_t first, int64_t last, Out2<double> out, int n_threads) {
            const Table table = explain(self, x, first, last, out, self.n_players() + 1, n_threads), other = as_table(background);
            require(other.n_columns == table.n_columns && other.n_rows > 0, "the background must have rows of the same features");
            const Released free;
            self.add_interventional(table, other, first, last, n_threads, out.data());
          },
          "x"_a, "background"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a,
          "Add the SHAP values of the trees [first, last) against background rows to `out`.");
  auto def_explain = [&](const char* name, Explain add, auto width, const char* doc) {
    explainer.def(
        name,
        [=](const Explainer& self, AnyTable x, int64_t first, int64_t last, Out2<double> out, int n_threads) {
          const Table table = explain(self, x, first, last, out, width(int64_t(self.n_players())), n_threads);
          if (add == &Explainer::add_interactions) {
            const PathCost cost = path_cost(self.scorer(), self.n_players());
            require(cost.cubes <= kCubesPerNode * double(self.scorer().n_nodes()) + kFreeWork,
                    "the trees are too deep for interactions: the nodes on the way to a leaf must not be more than 64 on average");
          }
          const Released free;
          (self.*add)(table, first, last, n_threads, out.data());
        },
        "x"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, doc);
  };
  def_explain("add", &Explainer::add, [](int64_t n) { return n + 1; }, "Add the SHAP values of the trees [first, last) to `out`.");
  def_explain(
      "add_interactions", &Explainer::add_interactions, [](int64_t n) { return n * n; },
      "Add the SHAP interaction values of the trees [first, last) to `out`.");
}

}  // namespace sapwood
