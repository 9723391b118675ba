// Where bins are kept that do not all have a column of their own.
#include <atomic>
#include <cstring>
#include <mutex>

#include "bindings/bindings.hpp"

namespace sapwood {
namespace {

// Where features are that do not all have a column of their own.
//   column  kBeside, or the column
//   common  kNoCommon in a column of its own
Places make_places(const In<int32_t>& missing_bin, const In<int32_t>& column, const In<int32_t>& common) {
  const size_t n = missing_bin.size();
  require(n > 0 && column.size() == n && common.size() == n, "one entry for each feature");
  Places places;
  int n_columns = 0;
  for (size_t f = 0; f < n; ++f) {
    require(column.data()[f] >= kBeside && size_t(column.data()[f] + 1) <= n, "column out of range");
    n_columns = std::max(n_columns, column.data()[f] + 1);
  }
  places.of.resize(n);
  places.n_codes.assign(n_columns, 0);
  std::vector<std::vector<uint32_t>> members(n_columns + 1);
  for (size_t f = 0; f < n; ++f) {
    Place& place = places.of[f];
    const int last = missing_bin.data()[f];
    require(last >= 0 && last <= 255, "missing_bin out of range");
    place.column = column.data()[f];
    place.common = common.data()[f];
    require(place.common >= kNoCommon && place.common <= last, "common bin out of range");
    members[place.column == kBeside ? n_columns : place.column].push_back(uint32_t(f));
    if (place.column == kBeside) {
      require(place.common != kNoCommon, "a feature beside the rows has a common bin");
      place.first = int(places.n_beside);
      place.n_stored = last;
      places.n_beside += last;
      require(places.n_beside < int64_t(1) << 31, "too many bins in all");
    } else if (place.common == kNoCommon) {
      require(places.n_codes[place.column] == 0, "a shared column holds features with a common bin");
      places.n_codes[place.column] = 256;
      place.n_stored = 256;  // a Layout knows how many it has
    } else {
      int32_t& codes = places.n_codes[place.column];
      place.first = codes = std::max(1, codes);  // 0: every feature has its common bin
      place.n_stored = last;
      codes += last;
      require(codes <= 256, "a column has at most 256 codes");
    }
  }
  for (int32_t codes : places.n_codes) require(codes > 0, "a column without a feature");
  for (auto& list : members) places.members.insert(places.members.end(), list.begin(), list.end());
  return places;
}

// Writes plain rows of bins to a page as `places` says. Returns how long each row's list is, and the lists.
//   bins     (n, n_features)                                                                 IN
//   page     zero where it is not yet written                                                OUT
//   clashes  (n_features,): set to 1 where a row's place in a shared column was taken        OUT
auto store_rows(In2<uint8_t> bins, const Places& places, Bytes page, int64_t page_rows, int64_t first_row, int width, int stride,
                Out<uint8_t> clashes, int n_threads) {
  const int64_t n = int64_t(bins.shape(0));
  const int n_features = int(places.of.size()), n_columns = places.n_columns();
  const int64_t n_groups = width > 0 ? (n_columns + width - 1) / width : 0;
  require(int(bins.shape(1)) == n_features && int(clashes.size()) == n_features, "features do not fit");
  require(width > 0 && stride >= width && page_rows >= 0 && page_rows < int64_t(1) << 32 && first_row >= 0 && first_row <= page_rows - n &&
              (n_groups == 0 || int64_t(page.size()) / stride / n_groups >= page_rows),
          "page too small");
  std::vector<uint32_t> lengths(n), all;
  const int64_t block = block_of(n_features);
  std::vector<std::vector<uint32_t>> lists((n + block - 1) / block);
  std::vector<int> plain;
  std::vector<uint8_t> common((n_features + 7) / 8 * 8);  // what need not be looked at
  for (int f = 0; f < n_features; ++f) {
    common[f] = uint8_t(places.of[f].common);
    if (places.of[f].common == kNoCommon) plain.push_back(f);
  }
  std::mutex joining;
  std::atomic<bool> ok{true};
  over_rows(
      n, n_threads,
      [&](int64_t begin, int64_t end) {
        std::vector<uint8_t> taken(n_features), away(common.size());
        std::vector<uint32_t>& list = lists[begin / block];
        auto at = [&](int column, int64_t row) -> uint8_t& {
          return page.data()[(int64_t(column / width) * page_rows + first_row + row) * stride + column % width];
        };
        auto store = [&](int64_t row, int f, int bin) {
          const Place& place = places.of[f];
          if (place.common == kNoCommon) return;
          const int stored = place.stored_of(bin);
          if (stored >= place.n_stored) {
            ok = false;
          } else if (place.column == kBeside) {
            list.push_back(uint32_t(place.first + stored));
          } else {
            uint8_t& code = at(place.column, row);
            taken[f] |= code != 0;
            code = uint8_t(place.first + stored);
          }
        };
        for (int64_t row = begin; row < end; ++row) {
          const uint8_t* from = bins.data() + row * n_features;
          const size_t before = list.size();
          for (int f : plain) at(places.of[f].column, row) = from[f];
          for (int f = 0; f < n_features; ++f) away[f] = from[f] ^ common[f];
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
        for (int f = 0; f < n_features; ++f) clashes.data()[f] |= taken[f];
      },
      block);
  require(ok, "a bin that its feature does not have");
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return std::pair(lengths, all);
}

}  // namespace

void bind_places(nb::module_& m) {
  nb::class_<Places>(m, "Places")
      .def(
          "__init__",
          [](Places* self, In<int32_t> missing_bin, In<int32_t> column, In<int32_t> common) {
            new (self) Places(make_places(missing_bin, column, common));
          },
          "missing_bin"_a, "column"_a, "common"_a)
      .def_prop_ro("n_columns", &Places::n_columns)
      .def_prop_ro("n_beside", [](const Places& self) { return self.n_beside; });
  m.def(
      "store_rows",
      [](In2<uint8_t> bins, const Places& places, Bytes page, int64_t page_rows, int64_t first_row, int width, int stride,
         Out<uint8_t> clashes, int n_threads) {
        std::pair<std::vector<uint32_t>, std::vector<uint32_t>> lists;
        {
          nb::gil_scoped_release free;
          lists = store_rows(bins, places, page, page_rows, first_row, width, stride, clashes, n_threads);
        }
        return std::pair(to_numpy(std::move(lists.first)), to_numpy(std::move(lists.second)));
      },
      "bins"_a, "places"_a, "page"_a, "page_rows"_a, "first_row"_a, "width"_a, "stride"_a, "clashes"_a, "n_threads"_a);
  m.def(
      "take_lists",
      [](In<uint32_t> begin, In<uint32_t> beside, In<int64_t> rows, int n_threads) {
        require(begin.size() >= 1 && begin.data()[0] == 0 && begin.data()[begin.size() - 1] == beside.size(), "lists do not fit");
        for (size_t i = 0; i + 1 < begin.size(); ++i) require(begin.data()[i] <= begin.data()[i + 1], "lists do not fit");
        int64_t total = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
          const int64_t row = rows.data()[i];
          require(row >= 0 && row + 1 < int64_t(begin.size()), "row out of range");
          total += begin.data()[row + 1] - begin.data()[row];
        }
        require(total < int64_t(1) << 32, "too many values beside the rows");
        std::pair<std::vector<uint32_t>, std::vector<uint32_t>> lists;
        {
          nb::gil_scoped_release free;
          lists = take_lists(begin.data(), beside.data(), rows.data(), int64_t(rows.size()), n_threads);
        }
        return std::pair(to_numpy(std::move(lists.first)), to_numpy(std::move(lists.second)));
      },
      "begin"_a, "beside"_a, "rows"_a, "n_threads"_a);
}

}  // namespace sapwood
