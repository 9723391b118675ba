// Bundled columns: features that share a column, or are stored in row lists.
#include <atomic>
#include <cstring>
#include <mutex>

#include "bindings/bindings.hpp"

namespace sapwood {
namespace {

// The storage of features that do not all have a column of their own.
//   column       kRowList, or the column
//   default_bin  kNoDefault in a column of its own
ColumnLayout make_columns(const In<int32_t>& missing_bin, const In<int32_t>& column, const In<int32_t>& default_bin) {
  const size_t n = missing_bin.size();
  require(n > 0 && column.size() == n && default_bin.size() == n, "one entry for each feature");
  ColumnLayout columns;
  int n_columns = 0;
  for (size_t f = 0; f < n; ++f) {
    require(column.data()[f] >= kRowList && size_t(column.data()[f] + 1) <= n, "column out of range");
    n_columns = std::max(n_columns, column.data()[f] + 1);
  }
  columns.features.resize(n);
  columns.n_codes.assign(n_columns, 0);
  std::vector<std::vector<uint32_t>> members(n_columns + 1);
  for (size_t f = 0; f < n; ++f) {
    FeatureStorage& storage = columns.features[f];
    const int last = missing_bin.data()[f];
    require(last >= 0 && last <= 255, "missing_bin out of range");
    storage.column = column.data()[f];
    storage.default_bin = default_bin.data()[f];
    require(storage.default_bin >= kNoDefault && storage.default_bin <= last, "default bin out of range");
    members[storage.column == kRowList ? n_columns : storage.column].push_back(uint32_t(f));
    if (storage.column == kRowList) {
      require(storage.default_bin != kNoDefault, "a feature in row lists has a default bin");
      storage.first = int(columns.n_list_bins);
      storage.n_stored = last;
      columns.n_list_bins += last;
      require(columns.n_list_bins < int64_t(1) << 31, "too many bins in all");
    } else if (storage.default_bin == kNoDefault) {
      require(columns.n_codes[storage.column] == 0, "a shared column holds features with a default bin");
      columns.n_codes[storage.column] = 256;
      storage.n_stored = 256;  // a BinLayout knows the number
    } else {
      int32_t& codes = columns.n_codes[storage.column];
      storage.first = codes = std::max(1, codes);  // 0: every feature is in its default bin
      storage.n_stored = last;
      codes += last;
      require(codes <= 256, "a column has at most 256 codes");
    }
  }
  for (int32_t codes : columns.n_codes) require(codes > 0, "a column without a feature");
  for (auto& list : members) columns.members.insert(columns.members.end(), list.begin(), list.end());
  return columns;
}

// Writes plain rows of bins to a page as `columns` says. Returns how long each row's list is, and the lists.
//   bins       (n, n_features)                                   IN
//   first_row  row of the page that the first of them goes to    IN
auto store_rows(In2<uint8_t> bins, const ColumnLayout& columns, const PageBuffer& page, int64_t first_row, int n_threads) {
  const int64_t n = int64_t(bins.shape(0));
  const int n_features = int(columns.features.size()), stride = page.stride();
  require(int(bins.shape(1)) == n_features && page.n_features() == n_features, "features do not fit");
  page.require_room(columns.n_columns(), first_row, n);
  std::vector<uint32_t> lengths(n), all;
  const int64_t block = block_of(n_features);
  std::vector<std::vector<uint32_t>> lists((n + block - 1) / block);
  std::vector<int> plain;
  std::vector<uint8_t> default_bin((n_features + 7) / 8 * 8);  // bins that are not stored
  for (int f = 0; f < n_features; ++f) {
    default_bin[f] = uint8_t(columns.features[f].default_bin);
    if (columns.features[f].default_bin == kNoDefault) plain.push_back(f);
  }
  std::mutex joining;
  std::atomic<bool> ok{true};
  over_rows(
      n, n_threads,
      [&](int64_t begin, int64_t end) {
        std::vector<uint8_t> taken(n_features), away(default_bin.size());
        std::vector<uint32_t>& list = lists[begin / block];
        auto at = [&](int column, int64_t row) -> uint8_t& { return page.column(column)[(first_row + row) * stride]; };
        auto store = [&](int64_t row, int f, int bin) {
          const FeatureStorage& storage = columns.features[f];
          if (storage.default_bin == kNoDefault) return;
          const int stored = storage.stored_of(bin);
          if (stored >= storage.n_stored) {
            ok = false;
          } else if (storage.column == kRowList) {
            list.push_back(uint32_t(storage.first + stored));
          } else {
            uint8_t& code = at(storage.column, row);
            taken[f] |= code != 0;
            code = uint8_t(storage.first + stored);
          }
        };
        for (int64_t row = begin; row < end; ++row) {
          const uint8_t* from = bins.data() + row * n_features;
          const size_t before = list.size();
          for (int f : plain) at(columns.features[f].column, row) = from[f];
          for (int f = 0; f < n_features; ++f) away[f] = from[f] ^ default_bin[f];
          for (int f = 0; f < n_features; f += 8) {
            uint64_t eight;
            std::memcpy(&eight, away.data() + f, 8);
            for (; eight; eight &= ~(uint64_t(255) << (__builtin_ctzll(eight) & ~7))) {
              const int g = f + __builtin_ctzll(eight) / 8;
              store(row, g, from[g]);
            }
          }
          lengths[row] = uint32_t(list.size() - before);
        }
        std::lock_guard<std::mutex> guard(joining);
        for (int f = 0; f < n_features; ++f) page.clashes.data()[f] |= taken[f];
      },
      block);
  require(ok, "a bin that its feature does not have");
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return std::pair(lengths, all);
}

}  // namespace

void bind_bundling(nb::module_& m) {
  nb::class_<ColumnLayout>(m, "ColumnLayout", "The storage of features that do not all have a column of their own.")
      .def(
          "__init__",
          [](ColumnLayout* self, In<int32_t> missing_bin, In<int32_t> column, In<int32_t> default_bin) {
            new (self) ColumnLayout(make_columns(missing_bin, column, default_bin));
          },
          "missing_bin"_a, "column"_a, "default_bin"_a)
      .def_prop_ro("n_columns", &ColumnLayout::n_columns)
      .def_prop_ro("n_list_bins", [](const ColumnLayout& self) { return self.n_list_bins; });
  m.def(
      "store_rows",
      [](In2<uint8_t> bins, const ColumnLayout& columns, const PageBuffer& page, int64_t first_row, int n_threads) {
        std::pair<std::vector<uint32_t>, std::vector<uint32_t>> lists;
        {
          const Released free;
          lists = store_rows(bins, columns, page, first_row, n_threads);
        }
        return std::pair(to_numpy(std::move(lists.first)), to_numpy(std::move(lists.second)));
      },
      "bins"_a, "columns"_a, "page"_a, "first_row"_a, "n_threads"_a,
      "Write plain rows of bins to a page. Returns how long each row's list is, and the lists.");
  m.def(
      "take_lists",
      [](In<uint32_t> begin, In<uint32_t> bins, In<int64_t> rows, int n_threads) {
        require(begin.size() >= 1 && begin.data()[0] == 0 && begin.data()[begin.size() - 1] == bins.size(), "lists do not fit");
        for (size_t i = 0; i + 1 < begin.size(); ++i) require(begin.data()[i] <= begin.data()[i + 1], "lists do not fit");
        int64_t total = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
          const int64_t row = rows.data()[i];
          require(row >= 0 && row + 1 < int64_t(begin.size()), "row out of range");
          total += begin.data()[row + 1] - begin.data()[row];
        }
        require(total < int64_t(1) << 32, "too many values in row lists");
        std::pair<std::vector<uint32_t>, std::vector<uint32_t>> lists;
        {
          const Released free;
          lists = take_lists(begin.data(), bins.data(), rows.data(), int64_t(rows.size()), n_threads);
        }
        return std::pair(to_numpy(std::move(lists.first)), to_numpy(std::move(lists.second)));
      },
      "begin"_a, "bins"_a, "rows"_a, "n_threads"_a, "The lists of some rows.");
}

}  // namespace sapwood
