// RowPartition: some rows of a data set, by the node of a growing tree that each is in.
#include <cstring>

#include "bindings/growing.hpp"
#include "core/buffer.hpp"

namespace sapwood {
namespace {

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
    const Released free;
    std::memset(words, 0, n * sizeof(int64_t));
    std::vector<int64_t*> histograms;
    for (size_t i = 0; i < n_histograms; ++i) histograms.push_back(words + int64_t(i) * n_words);
    self.rows.apply(batch, histograms.data(), false);
    for (int64_t* histogram : histograms) std::fill_n(histogram + n_words - batch.format.words(), batch.format.words(), 0);  // padding
    for (size_t i = 0; i < uncounted.size(); ++i) words[n_histograms * size_t(n_words) + i] = self.rows.count(uncounted[i]);
  }
  return Array<int64_t>(words, {n}, owner);
}

}  // namespace

void bind_partition(nb::module_& m) {
  nb::class_<SplitBatch>(m, "SplitBatch", "One step of a growing tree: nodes to split, then histograms to build.")
      .def_prop_ro("n_splits", [](const SplitBatch& self) { return self.splits.size(); })
      .def_prop_ro("n_histograms", [](const SplitBatch& self) { return self.histograms.size(); })
      .def_prop_ro("n_words", &SplitBatch::n_words, "Number of words of a histogram.");
  nb::class_<OwnedPartition>(m, "RowPartition", "Some rows of a data set, by the node of a growing tree that each is in.")
      .def(
          "__init__",
          [](OwnedPartition* self, nb::handle_t<BinLayout> layout, ListOf<OwnedPage> pages, int n_threads) {
            new (self) OwnedPartition(make_partition(share<BinLayout>(layout), pages, n_threads));
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
      .def(
          "split_sums",
          [](OwnedPartition& self, int node, int feature, int bin, bool missing_left) {
            require(self.rows.is_leaf(node), "node cannot be split");
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
            return sum_leaves(
                leaves, leaf_of_row, leaf_size, self.rows.n_rows(), [&](int64_t leaf) { return self.rows.is_leaf(leaf); },
                [&](const std::vector<int>& nodes, Sums* sums) { self.rows.leaf_sums(nodes, sums, leaf_of_row.data(), leaf_size); });
          },
          "leaves"_a, "leaf_of_row"_a, "leaf_size"_a,
          "(3, n_leaves): exact sums of the leaves' gradients, hessians and rows. Writes the number of its leaf for each row, sampled or "
          "not, in `leaf_size` bytes.");
}

}  // namespace sapwood
