// RowPartition: some rows of a data set, by the node of a growing tree that each is in.
#include <cstring>

#include "bindings/growing.hpp"
#include "core/buffer.hpp"

namespace sapwood {
namespace {

constexpr int kSideCodes = 257;  // codes of a column, and the default bin

OwnedPartition make_partition(std::shared_ptr<const BinLayout> layout, const nb::list& given, int n_threads) {
  std::vector<std::shared_ptr<OwnedPage>> pages;
  std::vector<Page> list;
  int64_t end = 0;
  for (nb::handle item : given) {
    if (!nb::isinstance<OwnedPage>(item)) throw nb::type_error("pages must be a list of Page");
    const std::shared_ptr<OwnedPage>& page = pages.emplace_back(share<OwnedPage>(item));
    require_same(*layout, *page->layout);
    require(page->page.first_row >= end, "pages must be in ascending order of their rows");
    end = page->page.first_row + page->page.n_rows;
    list.push_back(page->page);
  }
  return {std::move(pages), {}, RowPartition(std::move(layout), std::move(list), n_threads)};
}

// A partition of one page that is loaded later.
OwnedPartition make_unloaded(std::shared_ptr<const BinLayout> layout, int64_t n_rows, int64_t first_row, int n_threads,
                             const OwnedPartition* other) {
  require(n_rows >= 0 && n_rows < int64_t(1) << 32 && first_row >= 0 && first_row < int64_t(1) << 62, "n_rows or first_row out of range");
  require(!layout->any_lists(), "a page with row lists cannot be loaded later");
  if (other) require_same(*layout, *other->rows.layout());
  require(!other || (other->rows.is_loaded_later() && other->rows.n_threads() == std::max(1, n_threads)), "another kind of partition");
  return {{}, {}, RowPartition(std::move(layout), n_rows, first_row, n_threads, other ? &other->rows : nullptr)};
}

void load_page(OwnedPartition& self, nb::handle_t<OwnedPage> given) {
  require(self.rows.is_loaded_later(), "pages of this partition are always loaded");
  const std::shared_ptr<OwnedPage> page = share<OwnedPage>(given);
  require_same(*self.rows.layout(), *page->layout);
  require(page->page.n_rows == self.rows.n_rows() && page->page.first_row == self.rows.first_row(), "another page");
  self.pages.assign(1, page);
  self.rows.load(page->page.codes);
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

size_t n_results(const SplitBatch& batch) { return batch.histograms.size() * size_t(batch.n_words()) + batch.uncounted().size(); }

// Splits nodes, and adds histograms and numbers of rows to words.
//   words  (n_results,)   IN/OUT
void add_results(RowPartition& rows, const SplitBatch& batch, int64_t* words) {
  const int64_t n_words = batch.n_words();
  std::vector<int64_t*> histograms;
  for (size_t i = 0; i < batch.histograms.size(); ++i) histograms.push_back(words + int64_t(i) * n_words);
  rows.apply(batch, histograms.data(), false);
  for (int64_t* histogram : histograms) std::fill_n(histogram + n_words - batch.format.words(), batch.format.words(), 0);  // padding
  words += int64_t(histograms.size()) * n_words;
  for (int node : batch.uncounted()) *words++ += rows.count(node);
}

// (n_results,) int64
Array<int64_t> apply_batch(OwnedPartition& self, const SplitBatch& batch) {
  require_batch(self.rows, batch);
  require_loaded(self);
  const size_t n = n_results(batch);
  auto* kept = new Buffer(n * sizeof(int64_t));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Buffer*>(p); });
  int64_t* words = kept->as<int64_t>();
  {
    const Released free;
    std::memset(words, 0, n * sizeof(int64_t));
    add_results(self.rows, batch, words);
  }
  return Array<int64_t>(words, {n}, owner);
}

void apply_batch_to(OwnedPartition& self, const SplitBatch& batch, Out<int64_t> words) {
  require_batch(self.rows, batch);
  require_loaded(self);
  require(words.size() == n_results(batch), "words do not fit");
  const Released free;
  add_results(self.rows, batch, words.data());
}

// Adds the sides of a split to a table with kSideCodes entries for each split: by code, then of the default bin.
void append_sides(const BinLayout& layout, const Split& split, std::vector<uint8_t>& table) {
  const Sides sides = sides_of(layout, split);
  table.insert(table.end(), std::begin(sides.left), std::end(sides.left));
  table.push_back(sides.default_side);
}

// (n_splits, kSideCodes)
Array2<uint8_t> batch_sides(const SplitBatch& batch) {
  std::vector<uint8_t> table;
  for (const auto& one : batch.splits) append_sides(*batch.layout, one.split, table);
  return to_numpy2(std::move(table), kSideCodes);
}

}  // namespace

void bind_partition(nb::module_& m) {
  nb::class_<SplitBatch>(m, "SplitBatch", "One step of a growing tree: nodes to split, then histograms to build.")
      .def_prop_ro("n_splits", [](const SplitBatch& self) { return self.splits.size(); })
      .def_prop_ro("n_histograms", [](const SplitBatch& self) { return self.histograms.size(); })
      .def_prop_ro("n_words", &SplitBatch::n_words, "Number of words of a histogram.")
      .def_ro("first", &SplitBatch::first, "The children of split i are the nodes first + 2 i (left) and first + 2 i + 1.")
      .def_prop_ro(
          "nodes",
          [](const SplitBatch& self) {
            std::vector<int32_t> nodes;
            for (const auto& one : self.splits) nodes.push_back(one.node);
            return to_numpy(std::move(nodes));
          },
          nb::rv_policy::automatic, "(n_splits,): nodes to split.")
      .def_prop_ro(
          "features",
          [](const SplitBatch& self) {
            std::vector<int32_t> features;
            for (const auto& one : self.splits) features.push_back(one.split.feature);
            return to_numpy(std::move(features));
          },
          nb::rv_policy::automatic, "(n_splits,): features that the nodes are split on.")
      .def_prop_ro(
          "sides", &batch_sides, nb::rv_policy::automatic,
          "(n_splits, 257): whether rows go left, by the code in the column of the feature (or stored bin, in row lists); the last "
          "is the side of the default bin.")
      .def_prop_ro(
          "histograms",
          [](const SplitBatch& self) { return to_numpy(std::vector<int32_t>(self.histograms.begin(), self.histograms.end())); },
          nb::rv_policy::automatic, "(n_histograms,): nodes whose histograms are to be built.")
      .def_prop_ro(
          "uncounted",
          [](const SplitBatch& self) {
            const std::vector<int> nodes = self.uncounted();
            return to_numpy(std::vector<int32_t>(nodes.begin(), nodes.end()));
          },
          nb::rv_policy::automatic, "Children whose numbers of rows are known only after the split.")
      .def_prop_ro("n_results", &n_results, "Number of words of all histograms, and of numbers of rows.");
  nb::class_<OwnedPartition>(m, "RowPartition", "Some rows of a data set, by the node of a growing tree that each is in.")
      .def(
          "__init__",
          [](OwnedPartition* self, nb::handle_t<BinLayout> layout, ListOf<OwnedPage> pages, int n_threads) {
            new (self) OwnedPartition(make_partition(share<BinLayout>(layout), pages, n_threads));
          },
          "layout"_a, "pages"_a, "n_threads"_a)
      .def(
          "__init__",
          [](OwnedPartition* self, nb::handle_t<BinLayout> layout, int64_t n_rows, int64_t first_row, int n_threads,
             const OwnedPartition* other) {
            new (self) OwnedPartition(make_unloaded(share<BinLayout>(layout), n_rows, first_row, n_threads, other));
          },
          "layout"_a, "n_rows"_a, "first_row"_a, "n_threads"_a, "other"_a = nb::none(),
          "One page that is in memory only between `load` and `unload`. It shares the temporary memory of another one, if given: both must "
          "not be used at the same time.")
      .def("load", &load_page, "page"_a, "Take the page of a partition that was made without one.")
      .def(
          "unload",
          [](OwnedPartition& self) {
            require(self.rows.is_loaded_later(), "pages of this partition are always loaded");
            self.rows.unload();
            self.pages.clear();
          },
          "Forget the page.")
      .def_prop_ro("n_rows", [](const OwnedPartition& self) { return self.rows.n_rows(); })
      .def(
          "start",
          [](OwnedPartition& self, Bytes gradients, const HistogramFormat& format, uint64_t key, std::optional<In<int64_t>> sample) {
            require_gradients(gradients, format, self.rows.n_rows());
            require_sample(self, sample);
            self.gradients = gradients;
            Sums sums;
            {
              const Released free;
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
      .def("apply_to", &apply_batch_to, "batch"_a, "words"_a.noconvert(), "The same, but add to the results of other partitions.")
      .def_static(
          "sides",
          [](nb::handle_t<BinLayout> layout, int feature, int bin, bool missing_left) {
            const std::shared_ptr<BinLayout> shared = share<BinLayout>(layout);
            std::vector<uint8_t> table;
            append_sides(*shared, make_split(feature, bin, missing_left, shared->n_features), table);
            return to_numpy(std::move(table));
          },
          "layout"_a, "feature"_a, "bin"_a, "missing_left"_a, "(257,): the sides of a split, as `SplitBatch.sides`.")
      .def(
          "split_sums",
          [](OwnedPartition& self, int node, int feature, int bin, bool missing_left) {
            require(self.rows.is_leaf(node), "node cannot be split");
            require_loaded(self);
            const Split split = make_split(feature, bin, missing_left, self.rows.layout()->n_features);
            Sums left, all;
            {
              const Released free;
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
            require(self.rows.is_loaded() || !self.rows.is_sampled(), "the page is not loaded");
            return sum_leaves(
                leaves, leaf_of_row, leaf_size, self.rows.n_rows(), [&](int64_t leaf) { return self.rows.is_leaf(leaf); },
                [&](const std::vector<int>& nodes, Sums* sums) { self.rows.leaf_sums(nodes, sums, leaf_of_row.data(), leaf_size); });
          },
          "leaves"_a, "leaf_of_row"_a.noconvert(), "leaf_size"_a,
          "(3, n_leaves): exact sums of the leaves' gradients, hessians and rows. Writes the number of its leaf for each row, sampled or "
          "not, in `leaf_size` bytes.");
}

}  // namespace sapwood
