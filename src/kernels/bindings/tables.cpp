// From tables, dense and sparse, to cut points, bins, ranks and hashes.
#include <mutex>

#include "bindings/bindings.hpp"
#include "bins/fingerprint.hpp"
#include "bins/statistics.hpp"
#include "grow/sorted.hpp"
#include "loss/quantiles.hpp"

namespace sapwood {
namespace {

// Bins some columns of a table into a page.
//   first_row      row of the page that the table's first row goes to     IN
//   first_feature  feature that the table's first column holds            IN
void bin_table(AnyTable x, const OwnedCuts& cuts, const PageBuffer& page, int64_t first_row, int first_feature, int n_threads) {
  const Table table = as_table(x);
  const int n = table.n_columns, n_features = page.n_features(), width = page.width, stride = page.stride();
  require(first_feature >= 0 && first_feature + n <= n_features && cuts.n_features() == n_features, "features out of range");
  page.require_room(n_features, first_row, table.n_rows);
  std::mutex joining;
  over_rows(
      table.n_rows, n_threads,
      [&](int64_t begin, int64_t end) {
        std::vector<uint8_t> seen(n_features);
        for (int f = first_feature; f < first_feature + n;) {
          const int last = std::min(first_feature + n, (f / width + 1) * width);  // of the group
          with_number(table.type, [&](auto zero) {
            using T = decltype(zero);
            auto* at = static_cast<const T*>(table.data) + begin * table.row_stride + (f - first_feature) * table.column_stride;
            bin_values_of<T>(at, table.row_stride, table.column_stride, end - begin, last - f,
                             Cuts{cuts.values.data(), cuts.begin.data() + f}, page.column(f) + (first_row + begin) * stride, stride, 1,
                             seen.data() + f);
          });
          f = last;
        }
        std::lock_guard<std::mutex> guard(joining);
        for (int f = 0; f < n_features; ++f) page.missing.data()[f] |= seen[f];
      },
      block_of(n));
}

std::vector<nb::ndarray<nb::numpy, double, nb::ndim<1>>> to_arrays(std::vector<std::vector<double>> lists) {
  std::vector<nb::ndarray<nb::numpy, double, nb::ndim<1>>> arrays;
  for (auto& list : lists) arrays.push_back(to_numpy(std::move(list)));
  return arrays;
}

// Cut points of each column of a table, from all rows or the given ones.
auto find_cuts_py(AnyTable x, std::optional<In<uint32_t>> rows, Weight weight, int max_bins, int n_threads) {
  const Table table = as_table(x);
  require(max_bins >= 2, "max_bins must be at least 2");
  const int64_t n = rows ? int64_t(rows->size()) : table.n_rows;
  if (rows) {
    for (int64_t i = 0; i < n; ++i) require(rows->data()[i] < table.n_rows, "row out of range");
  }
  require(!weight || int64_t(weight->size()) == table.n_rows, "weight must have one value for each row");
  std::vector<std::vector<double>> cuts;
  {
    const Released release;
    cuts = find_cuts(table, rows ? rows->data() : nullptr, n, weight ? weight->data() : nullptr, max_bins, n_threads);
  }
  return to_arrays(std::move(cuts));
}

}  // namespace

void bind_tables(nb::module_& m) {
  const auto release = nb::call_guard<Released>();
  m.def("find_cuts", &find_cuts_py, "x"_a, "rows"_a.none(), "weight"_a.none(), "max_bins"_a, "n_threads"_a,
        "The cut points of each column, from all rows or the given ones.");
  nb::class_<OwnedCuts>(m, "CutPoints", "Cut points of features, end to end. The arrays must not change afterwards.")
      .def(nb::init<In<double>, In<int64_t>>(), "values"_a, "begin"_a);
  nb::class_<PageBuffer>(m, "PageBuffer",
                         "Memory of a page that is filled: codes, (n_groups, n_rows, stride), zero at first; flags of the features with "
                         "missing values, and of those that clash in a shared column.")
      .def(nb::init<nb::ndarray<uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>, int, Out<uint8_t>, Out<uint8_t>>(),
           "codes"_a.noconvert(), "width"_a, "missing"_a.noconvert(), "clashes"_a.noconvert());
  m.def("bin_table", &bin_table, "x"_a, "cuts"_a, "page"_a, "first_row"_a, "first_feature"_a, "n_threads"_a, release,
        "Write the bins of some columns to a page; set `missing` where a value is missing.");
  m.def(
      "hash_columns",
      [](AnyTable x, int64_t first_row, Out<uint64_t> sums, int n_threads) {
        const Table table = as_table(x);
        require(int64_t(sums.size()) == table.n_columns && first_row >= 0, "sums must have one number for each column");
        std::mutex joining;
        over_rows(
            table.n_rows, n_threads,
            [&](int64_t begin, int64_t end) {
              std::vector<uint64_t> own(table.n_columns);
              with_number(table.type, [&](auto zero) {
                hash_columns(static_cast<const decltype(zero)*>(table.data), table.row_stride, table.column_stride, begin, end,
                             table.n_columns, first_row, own.data());
              });
              std::lock_guard<std::mutex> guard(joining);
              for (int f = 0; f < table.n_columns; ++f) sums.data()[f] += own[f];
            },
            block_of(table.n_columns));
      },
      "x"_a, "first_row"_a, "sums"_a, "n_threads"_a, release, "Add a hash of each column's values and their rows to `sums`.");
  m.def(
      "sum_before",
      [](In<uint32_t> order, In<uint32_t> keys, In<int64_t> targets, std::optional<In<int64_t>> weights,
         std::optional<Out2<int64_t>> before, Out2<int64_t> totals) {
        const size_t n = order.size();
        require(keys.size() == n && targets.size() == n && (!weights || weights->size() == n), "one entry for each row");
        require((!before || (before->shape(0) == n && before->shape(1) == 2)) && totals.shape(1) == 2, "sums come in pairs");
        for (size_t i = 0; i < n; ++i) require(order.data()[i] < n && keys.data()[i] < totals.shape(0), "a row or key is out of range");
        sum_before(order.data(), keys.data(), targets.data(), weights ? weights->data() : nullptr, int64_t(n),
                   before ? before->data() : nullptr, totals.data());
      },
      "order"_a, "keys"_a, "targets"_a, "weights"_a.none(), "before"_a.none(), "totals"_a, release,
      "Sum targets and weights by key, in an order of rows: before each row, and in all.");
  nb::class_<OwnedMatrix>(m, "SparseMatrix",
                          "A sparse matrix in compressed rows (CSR) or columns (CSC). The arrays must not change afterwards.")
      .def(nb::init<nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>, In<int32_t>, In<int64_t>, int64_t, bool, int>(),
           "values"_a, "indices"_a, "indptr"_a, "n_minor"_a, "absent_missing"_a, "n_threads"_a)
      .def(
          "transposed",
          [](const OwnedMatrix& self, int n_threads) {
            const SparseMatrix& matrix = self.matrix;
            require(matrix.n_major < int64_t(1) << 31, "too many rows");
            const size_t n = self.values.size(), item = self.values.itemsize();
            std::vector<char> values(n * item);
            std::vector<int32_t> indices(n);
            std::vector<int64_t> begin(size_t(matrix.n_minor) + 1);
            {
              const Released free;
              transpose(matrix, int(item), values.data(), indices.data(), begin.data(), n_threads);
            }
            auto* kept = new std::vector<char>(std::move(values));
            nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<char>*>(p); });
            return OwnedMatrix({kept->data(), {n}, owner, {}, self.values.dtype()}, In<int32_t>(to_numpy(std::move(indices))),
                               In<int64_t>(to_numpy(std::move(begin))), matrix.n_major, matrix.absent_missing, n_threads);
          },
          "n_threads"_a, "The same matrix in columns if this is in rows, in rows if it is in columns.")
      .def(
          "find_cuts",
          [](const OwnedMatrix& self, Weight weight, In<int32_t> max_bins, int n_threads) {
            require(!weight || int64_t(weight->size()) == self.matrix.n_minor, "weight must have one value for each row");
            require(int64_t(max_bins.size()) == self.matrix.n_major, "one max_bins for each column");
            for (size_t f = 0; f < max_bins.size(); ++f) require(max_bins.data()[f] >= 2, "max_bins must be at least 2");
            std::vector<std::vector<double>> cuts;
            {
              const Released free;
              cuts = find_cuts(self.matrix, weight ? weight->data() : nullptr, max_bins.data(), n_threads);
            }
            return to_arrays(std::move(cuts));
          },
          "weight"_a.none(), "max_bins"_a, "n_threads"_a, "The cut points of each of these columns.")
      .def(
          "store",
          [](const OwnedMatrix& self, const OwnedCuts& cuts, const ColumnLayout& columns, const PageBuffer& page, int n_threads) {
            const int64_t n_features = self.matrix.n_minor, n_rows = self.matrix.n_major;
            require(cuts.n_features() == n_features && int64_t(columns.features.size()) == n_features && page.n_features() == n_features,
                    "features do not fit");
            page.require_room(columns.n_columns(), 0, n_rows);
            require(n_rows == page.n_rows(), "page must have the same rows");
            require(self.values.size() < size_t(1) << 32, "too many entries");
            for (int f = 0; f < n_features; ++f) {
              const FeatureStorage& storage = columns.features[f];
              const int absent = bin_of(cuts.values.data() + cuts.begin.data()[f], int(cuts.n_cuts(f)), self.matrix.absent());
              require(storage.default_bin == kNoDefault || (storage.default_bin == absent && storage.n_stored == cuts.n_cuts(f) + 1),
                      "the default bin must be that of absent entries");
            }
            std::pair<std::vector<uint32_t>, std::vector<uint32_t>> lists;
            {
              const Released free;
              lists = store_sparse(self.matrix, cuts.cuts(), columns, {page.codes.data(), n_rows, page.width, page.stride()},
                                   page.missing.data(), page.clashes.data(), n_threads);
            }
            return std::pair(to_numpy(std::move(lists.first)), to_numpy(std::move(lists.second)));
          },
          "cuts"_a, "columns"_a, "page"_a, "n_threads"_a,
          "Write the bins of these rows to a page. Returns where each row's list begins, and the lists.")
      .def(
          "hash_columns",
          [](const OwnedMatrix& self, Out<uint64_t> sums, int n_threads, int64_t first_row) {
            require(int64_t(sums.size()) == self.matrix.n_minor && first_row >= 0, "sums must have one number for each column");
            std::vector<std::vector<uint64_t>> of_thread(std::max(1, n_threads));
            parallel(n_threads, (self.matrix.n_major + kMajorAtOnce - 1) / kMajorAtOnce, [&](int participant, Tasks& tasks) {
              auto& own = of_thread[participant];
              own.resize(sums.size());
              for (int64_t task; (task = tasks.claim()) >= 0;) {
                const int64_t begin = task * kMajorAtOnce, end = std::min(self.matrix.n_major, begin + kMajorAtOnce);
                with_number(self.matrix.type, [&](auto zero) {
                  auto* values = static_cast<const decltype(zero)*>(self.matrix.values);
                  hash_entries(values, self.matrix.indices, self.matrix.indptr, begin, end, first_row, own.data());
                });
              }
            });
            for (const auto& own : of_thread) {
              for (size_t f = 0; f < own.size(); ++f) sums.data()[f] += own[f];
            }
          },
          "sums"_a, "n_threads"_a, "first_row"_a = 0, release, "Add a hash of each column's entries and their rows to `sums`.")
      .def(
          "bundle_features",
          [](const OwnedMatrix& self, In<int32_t> order, In<int32_t> n_codes, int max_codes, int n_open) {
            require(int64_t(n_codes.size()) == self.matrix.n_major && n_open > 0, "one number of codes for each feature");
            for (size_t i = 0; i < order.size(); ++i)
              require(order.data()[i] >= 0 && order.data()[i] < self.matrix.n_major, "no such feature");
            std::vector<int32_t> shared(self.matrix.n_major, -1);
            {
              const Released free;
              bundle_features(self.matrix, order.data(), int64_t(order.size()), n_codes.data(), max_codes, n_open, shared.data());
            }
            return to_numpy(std::move(shared));
          },
          "order"_a, "n_codes"_a, "max_codes"_a, "n_open"_a,
          "Put features that exclude each other in bundles. Returns the number of each feature's bundle, or -1.")
      .def(
          "fill_dense",
          [](const OwnedMatrix& self, int64_t first_major, int first, int last, Out2<double> out, int n_threads) {
            const int64_t n = int64_t(out.shape(0));
            require(first_major >= 0 && n <= self.matrix.n_major - first_major && 0 <= first && first <= last &&
                        last <= self.matrix.n_minor && int64_t(out.shape(1)) == last - first,
                    "out does not fit");
            fill_dense(self.matrix, first_major, n, first, last, out.data(), n_threads);
          },
          "first_major"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, release,
          "Fill in a dense part: some rows (or columns), the indices [first, last) of each.");
  m.def(
      "sort_columns",
      [](AnyTable x, int n_threads) {
        const Table table = as_table(x);
        require(table.n_rows < int64_t(1) << 32, "too many rows");
        std::vector<SortedColumn> columns;
        {
          const Released free;
          columns = sort_columns(table, n_threads);
        }
        using Pairs = nb::ndarray<nb::numpy, uint32_t, nb::ndim<2>>;
        std::vector<std::pair<Pairs, decltype(to_numpy(std::move(columns[0].values)))>> result;
        for (SortedColumn& column : columns) {
          auto* kept = new std::vector<Ranked>(std::move(column.rows));
          nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Ranked>*>(p); });
          result.emplace_back(Pairs(kept->data(), {kept->size(), 2}, owner), to_numpy(std::move(column.values)));
        }
        return result;
      },
      "x"_a, "n_threads"_a, "Of each column: its (row, rank) pairs sorted by rank, and its distinct values.");
}

}  // namespace sapwood
