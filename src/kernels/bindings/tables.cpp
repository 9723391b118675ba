// From tables, dense and sparse, to cut points, bins, ranks and hashes.
#include <mutex>

#include "bindings/bindings.hpp"
#include "bins/fingerprint.hpp"
#include "bins/statistics.hpp"
#include "grow/sorted.hpp"
#include "loss/quantiles.hpp"

namespace sapwood {
namespace {

// Bins some columns of a table into a page (see Page), which must be zero where it is not written.
void bin_table(AnyTable x, int first_feature, In<double> cuts, In<int64_t> cuts_begin, Bytes page, int64_t page_rows, int64_t first_row,
               int width, int stride, Out<uint8_t> missing, int n_threads) {
  const Table table = as_table(x);
  const int n = table.n_columns, n_features = int(missing.size());
  require(width > 0 && stride >= width && first_feature >= 0 && first_feature + n <= n_features, "features out of range");
  check_cuts(cuts, cuts_begin, n_features);
  const int64_t n_groups = (n_features + width - 1) / width;
  require(page_rows >= 0 && page_rows < int64_t(1) << 32 && first_row >= 0 && first_row <= page_rows - table.n_rows &&
              int64_t(page.size()) / stride / n_groups >= page_rows,
          "page too small");
  std::mutex joining;
  over_rows(
      table.n_rows, n_threads,
      [&](int64_t begin, int64_t end) {
        std::vector<uint8_t> seen(n_features);
        for (int f = first_feature; f < first_feature + n;) {
          const int group = f / width, last = std::min(first_feature + n, (group + 1) * width);
          with_number(table.type, [&](auto zero) {
            using T = decltype(zero);
            auto* at = static_cast<const T*>(table.data) + begin * table.row_stride + (f - first_feature) * table.column_stride;
            bin_values_of<T>(at, table.row_stride, table.column_stride, end - begin, last - f, Cuts{cuts.data(), cuts_begin.data() + f},
                             page.data() + (group * page_rows + first_row + begin) * stride + f % width, stride, 1, seen.data() + f);
          });
          f = last;
        }
        std::lock_guard<std::mutex> guard(joining);
        for (int f = 0; f < n_features; ++f) missing.data()[f] |= seen[f];
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
    nb::gil_scoped_release release;
    cuts = find_cuts(table, rows ? rows->data() : nullptr, n, weight ? weight->data() : nullptr, max_bins, n_threads);
  }
  return to_arrays(std::move(cuts));
}

}  // namespace

void bind_tables(nb::module_& m) {
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("find_cuts", &find_cuts_py, "x"_a, "rows"_a.none(), "weight"_a.none(), "max_bins"_a, "n_threads"_a,
        "The cut points of each column, from all rows or the given ones.");
  m.def("bin_table", &bin_table, "x"_a, "first_feature"_a, "cuts"_a, "cuts_begin"_a, "page"_a, "page_rows"_a, "first_row"_a, "width"_a,
        "stride"_a, "missing"_a, "n_threads"_a, release,
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
  nb::class_<OwnedLines>(m, "Lines", "The rows of a sparse table, or its columns. The arrays must not change afterwards.")
      .def(nb::init<nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>, In<int32_t>, In<int64_t>, int64_t, bool, int>(),
           "values"_a, "across"_a, "begin"_a, "n_across"_a, "absent_missing"_a, "n_threads"_a)
      .def(
          "turned",
          [](const OwnedLines& self, int n_threads) {
            const Lines& lines = self.lines;
            require(lines.n_lines < int64_t(1) << 31, "too many lines");
            const size_t n = self.values.size(), item = self.values.itemsize();
            std::vector<char> values(n * item);
            std::vector<int32_t> across(n);
            std::vector<int64_t> begin(size_t(lines.n_across) + 1);
            {
              nb::gil_scoped_release free;
              turn_lines(lines, int(item), values.data(), across.data(), begin.data(), n_threads);
            }
            auto* kept = new std::vector<char>(std::move(values));
            nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<char>*>(p); });
            return OwnedLines({kept->data(), {n}, owner, {}, self.values.dtype()}, In<int32_t>(to_numpy(std::move(across))),
                              In<int64_t>(to_numpy(std::move(begin))), lines.n_lines, lines.absent_missing, n_threads);
          },
          "n_threads"_a, "The columns, if these are the rows; the rows, if these are the columns.")
      .def(
          "find_cuts",
          [](const OwnedLines& self, Weight weight, In<int32_t> max_bins, int n_threads) {
            require(!weight || int64_t(weight->size()) == self.lines.n_across, "weight must have one value for each row");
            require(int64_t(max_bins.size()) == self.lines.n_lines, "one max_bins for each column");
            for (size_t f = 0; f < max_bins.size(); ++f) require(max_bins.data()[f] >= 2, "max_bins must be at least 2");
            std::vector<std::vector<double>> cuts;
            {
              nb::gil_scoped_release free;
              cuts = find_cuts(self.lines, weight ? weight->data() : nullptr, max_bins.data(), n_threads);
            }
            return to_arrays(std::move(cuts));
          },
          "weight"_a.none(), "max_bins"_a, "n_threads"_a, "The cut points of each of these columns.")
      .def(
          "store",
          [](const OwnedLines& self, In<double> cuts, In<int64_t> cuts_begin, const ColumnLayout& columns, Bytes page, int width,
             int stride, Out<uint8_t> missing, Out<uint8_t> clashes, int n_threads) {
            const int64_t n_features = self.lines.n_across, n_rows = self.lines.n_lines;
            check_cuts(cuts, cuts_begin, n_features);
            require(int64_t(columns.features.size()) == n_features && int64_t(missing.size()) == n_features &&
                        int64_t(clashes.size()) == n_features,
                    "features do not fit");
            const int64_t n_groups = width > 0 ? (columns.n_columns() + width - 1) / width : 0;
            require(width > 0 && stride >= width && n_rows < int64_t(1) << 32 && int64_t(page.size()) >= n_groups * n_rows * stride,
                    "page too small");
            require(self.values.size() < size_t(1) << 32, "too many entries");
            for (int64_t f = 0; f < n_features; ++f) {
              const FeatureStorage& storage = columns.features[f];
              const int n_cuts = int(cuts_begin.data()[f + 1] - cuts_begin.data()[f]);
              const int absent = bin_of(cuts.data() + cuts_begin.data()[f], n_cuts, self.lines.absent());
              require(storage.default_bin == kNoDefault || (storage.default_bin == absent && storage.n_stored == n_cuts + 1),
                      "the default bin must be that of absent entries");
            }
            std::pair<std::vector<uint32_t>, std::vector<uint32_t>> lists;
            {
              nb::gil_scoped_release free;
              lists = store_sparse(self.lines, Cuts{cuts.data(), cuts_begin.data()}, columns, {page.data(), n_rows, width, stride},
                                   missing.data(), clashes.data(), n_threads);
            }
            return std::pair(to_numpy(std::move(lists.first)), to_numpy(std::move(lists.second)));
          },
          "cuts"_a, "cuts_begin"_a, "columns"_a, "page"_a, "width"_a, "stride"_a, "missing"_a, "clashes"_a, "n_threads"_a,
          "Write the bins of these rows to a page. Returns where each row's list begins, and the lists.")
      .def(
          "hash_columns",
          [](const OwnedLines& self, Out<uint64_t> sums, int n_threads, int64_t first_row) {
            require(int64_t(sums.size()) == self.lines.n_across && first_row >= 0, "sums must have one number for each column");
            std::vector<std::vector<uint64_t>> of_thread(std::max(1, n_threads));
            parallel(n_threads, (self.lines.n_lines + kLinesAtOnce - 1) / kLinesAtOnce, [&](int participant, Tasks& tasks) {
              auto& own = of_thread[participant];
              own.resize(sums.size());
              for (int64_t task; (task = tasks.claim()) >= 0;) {
                const int64_t begin = task * kLinesAtOnce, end = std::min(self.lines.n_lines, begin + kLinesAtOnce);
                with_number(self.lines.type, [&](auto zero) {
                  auto* values = static_cast<const decltype(zero)*>(self.lines.values);
                  hash_entries(values, self.lines.across, self.lines.begin, begin, end, first_row, own.data());
                });
              }
            });
            for (const auto& own : of_thread) {
              for (size_t f = 0; f < own.size(); ++f) sums.data()[f] += own[f];
            }
          },
          "sums"_a, "n_threads"_a, "first_row"_a = 0, release, "Add a hash of each column's entries and their rows to `sums`.")
      .def(
          "share_columns",
          [](const OwnedLines& self, In<int32_t> order, In<int32_t> n_codes, int max_codes, int n_open) {
            require(int64_t(n_codes.size()) == self.lines.n_lines && n_open > 0, "one number of codes for each feature");
            for (size_t i = 0; i < order.size(); ++i)
              require(order.data()[i] >= 0 && order.data()[i] < self.lines.n_lines, "no such feature");
            std::vector<int32_t> shared(self.lines.n_lines, -1);
            {
              nb::gil_scoped_release free;
              share_columns(self.lines, order.data(), int64_t(order.size()), n_codes.data(), max_codes, n_open, shared.data());
            }
            return to_numpy(std::move(shared));
          },
          "order"_a, "n_codes"_a, "max_codes"_a, "n_open"_a, "Of each feature, the number of the column it shares, or -1.")
      .def(
          "fill_dense",
          [](const OwnedLines& self, int64_t first_line, int first, int last, Out2<double> out, int n_threads) {
            const int64_t n = int64_t(out.shape(0));
            require(first_line >= 0 && n <= self.lines.n_lines - first_line && 0 <= first && first <= last && last <= self.lines.n_across &&
                        int64_t(out.shape(1)) == last - first,
                    "out does not fit");
            fill_dense(self.lines, first_line, n, first, last, out.data(), n_threads);
          },
          "first_line"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, release,
          "Fill in a dense part: some lines, the places [first, last) of each.");
  m.def(
      "sort_columns",
      [](AnyTable x, int n_threads) {
        const Table table = as_table(x);
        require(table.n_rows < int64_t(1) << 32, "too many rows");
        std::vector<SortedColumn> columns;
        {
          nb::gil_scoped_release free;
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
