// Layouts and pages of binned rows.
#include <algorithm>
#include <numeric>

#include "bindings/owned_arguments.hpp"

namespace sapwood {
namespace {

// One column for each feature: feature f in column f.
ColumnLayout plain_columns(const In<int32_t>& missing_bin) {
  ColumnLayout columns;
  columns.features.resize(missing_bin.size());
  columns.n_codes.assign(missing_bin.size(), 256);
  for (size_t f = 0; f < columns.features.size(); ++f) {
    columns.features[f].column = int(f);
    columns.features[f].n_stored = 256;
    columns.members.push_back(uint32_t(f));
  }
  return columns;
}

// Numbers the cells of a histogram: columns one after the other, then the bins of row lists.
void number_cells(BinLayout& layout) {
  const ColumnLayout& columns = layout.columns;
  uint32_t member = 0;
  for (int c = 0; c < layout.n_columns(); ++c) {
    layout.column_begin.push_back(uint32_t(layout.n_cells));
    layout.n_cells += columns.n_codes[c];
    layout.member_begin.push_back(member);
    while (member < columns.members.size() && columns.features[columns.members[member]].column == c) ++member;
  }
  layout.column_begin.push_back(uint32_t(layout.n_cells));
  for (; member < columns.members.size(); ++member) {
    const int n_stored = columns.features[columns.members[member]].n_stored;
    layout.list_unit.insert(layout.list_unit.end(), n_stored, uint32_t(layout.member_begin.size()));
    layout.member_begin.push_back(member);
  }
  layout.member_begin.push_back(member);
  layout.n_cells += columns.n_list_bins;
  layout.unit_begin.assign(layout.column_begin.begin(), layout.column_begin.end() - 1);
  for (int u = layout.n_columns(); u < layout.n_units(); ++u) {
    layout.unit_begin.push_back(layout.cell(int(columns.members[layout.member_begin[u]])));
  }
  layout.unit_begin.push_back(uint32_t(layout.n_cells));
  require(layout.n_cells < int64_t(1) << 31, "too many bins in all");
  // Padding is counted in a cell of its own at the end.
  const int padded = layout.padded_width();
  layout.offsets.assign(size_t(layout.n_groups) * padded, uint32_t(layout.n_cells));
  for (int c = 0; c < layout.n_columns(); ++c) {
    layout.offsets[size_t(c / layout.width) * padded + c % layout.width] = layout.column_begin[c];
  }
}

BinLayout make_layout(const In<int32_t>& n_bins, const In<uint8_t>& missing, const In<int32_t>& missing_bin, int width, int stride,
                      const ColumnLayout* columns) {
  BinLayout layout;
  layout.n_features = int(n_bins.size());
  require(layout.n_features > 0 && width > 0 && width <= 64 && stride >= (width + 3) / 4 * 4, "width and stride do not fit");
  require(missing.size() == n_bins.size() && missing_bin.size() == n_bins.size(), "one entry for each feature");
  layout.columns = columns ? *columns : plain_columns(missing_bin);
  require(int(layout.columns.features.size()) == layout.n_features, "columns do not fit");
  layout.width = width;
  layout.stride = stride;
  layout.n_groups = (layout.n_columns() + width - 1) / width;
  layout.n_bins.assign(n_bins.data(), n_bins.data() + n_bins.size());
  layout.missing.assign(missing.data(), missing.data() + missing.size());
  layout.missing_bin.assign(missing_bin.data(), missing_bin.data() + missing_bin.size());
  for (int f = 0; f < layout.n_features; ++f) {
    FeatureStorage& storage = layout.columns.features[f];
    const int n = layout.n_bins[f];
    require(n >= 1 && n <= 256 && layout.missing_bin[f] >= 0 && layout.missing_bin[f] <= 255 &&
                (!layout.missing[f] || layout.missing_bin[f] == n - 1),
            "a feature has 1 to 256 bins, the missing one last");
    if (storage.default_bin == kNoDefault) {
      layout.columns.n_codes[storage.column] = storage.n_stored = n;
    } else {
      require(layout.missing_bin[f] == n - layout.missing[f] && storage.n_stored == layout.missing_bin[f], "columns do not fit");
    }
  }
  number_cells(layout);
  return layout;
}

// Every code becomes an index into a histogram, so it must be one that its column has. Columns of padding are 0.
void check_codes(const BinLayout& layout, const uint8_t* page, int64_t n_rows) {
  const int64_t stride = layout.stride, period = std::lcm(stride, int64_t(64));  // bytes after which the largest codes repeat
  std::vector<uint8_t> largest(static_cast<size_t>(period));
  for (int group = 0; group < layout.n_groups; ++group) {
    const int first = group * layout.width, last = std::min(layout.n_columns(), first + layout.width);
    for (int64_t i = 0; i < period; ++i) {
      const int column = int(i % stride);
      largest[i] = column < last - first ? uint8_t(layout.columns.n_codes[first + column] - 1) : column < layout.padded_width() ? 0 : 255;
    }
    const uint8_t *codes = page + group * n_rows * stride, *end = codes + n_rows * stride;
    uint8_t bad[64] = {};
    for (; end - codes >= period; codes += period) {
      for (int64_t i = 0; i < period; i += 64) {
        for (int k = 0; k < 64; ++k) bad[k] |= uint8_t(codes[i + k] > largest[i + k]);
      }
    }
    for (int64_t i = 0; codes + i < end; ++i) bad[0] |= uint8_t(codes[i] > largest[i]);
    require(std::all_of(std::begin(bad), std::end(bad), [](uint8_t b) { return b == 0; }),
            "a page holds a bin that its feature does not have");
  }
}

void check_lists(const ColumnLayout& columns, const Lists& lists, int64_t n_rows) {
  const auto& [begin, bins] = lists;
  require(int64_t(begin.size()) == n_rows + 1 && begin.data()[0] == 0 && begin.data()[n_rows] == bins.size(), "row lists do not fit");
  for (int64_t i = 0; i < n_rows; ++i) require(begin.data()[i] <= begin.data()[i + 1], "row lists do not fit");
  int bad = 0;
  for (size_t i = 0; i < bins.size(); ++i) bad |= int64_t(bins.data()[i]) >= columns.n_list_bins;
  require(!bad, "a bin of a row list is out of range");
}

OwnedPage make_page(std::shared_ptr<const BinLayout> layout, In<uint8_t> codes, int64_t n_rows, std::optional<Lists> lists,
                    int64_t first_row) {
  require(n_rows >= 0 && n_rows < int64_t(1) << 32 && int64_t(codes.size()) >= int64_t(layout->n_groups) * n_rows * layout->stride,
          "page too small");
  require(first_row >= 0 && first_row < int64_t(1) << 62, "first_row out of range");
  require(lists.has_value() == layout->any_lists(), "a page has row lists if its layout has some");
  {
    const Released free;
    check_codes(*layout, codes.data(), n_rows);
    if (lists) check_lists(layout->columns, *lists, n_rows);
  }
  const Page page{codes.data(), n_rows, first_row, lists ? lists->first.data() : nullptr, lists ? lists->second.data() : nullptr};
  return {std::move(layout), std::move(codes), std::move(lists), page};
}

// (n_features, 4)
Array2<int32_t> storage_of(const BinLayout& layout) {
  std::vector<int32_t> table;
  for (const FeatureStorage& one : layout.columns.features) {
    table.insert(table.end(), {one.column, one.default_bin, one.first, one.n_stored});
  }
  return to_numpy2(std::move(table), 4);
}

}  // namespace

void bind_pages(nb::module_& m) {
  nb::class_<BinLayout>(m, "BinLayout", "Layout of features and columns in a page and in a histogram.")
      .def(
          "__init__",
          [](BinLayout* self, In<int32_t> n_bins, In<uint8_t> missing, In<int32_t> missing_bin, int width, int stride,
             const ColumnLayout* columns) { new (self) BinLayout(make_layout(n_bins, missing, missing_bin, width, stride, columns)); },
          "n_bins"_a, "missing"_a, "missing_bin"_a, "width"_a, "stride"_a, "columns"_a = nb::none())
      .def_ro("n_features", &BinLayout::n_features)
      .def_ro("width", &BinLayout::width)
      .def_ro("stride", &BinLayout::stride)
      .def_ro("n_cells", &BinLayout::n_cells, "Number of a histogram's cells.")
      .def_prop_ro(
          "column_begin", [](const BinLayout& self) { return to_numpy(std::vector<uint32_t>(self.column_begin)); },
          nb::rv_policy::automatic, "(n_columns + 1,): first cell of each column; the last is the first cell of row lists.")
      .def_prop_ro("storage", &storage_of, nb::rv_policy::automatic,
                   "(n_features, 4): column (-1: row lists), default bin (-1: none), first stored bin, number of stored bins.");
  nb::class_<OwnedPage>(m, "Page", "Binned rows. Their codes and lists are checked here, once; the arrays must not change afterwards.")
      .def(
          "__init__",
          [](OwnedPage* self, nb::handle_t<BinLayout> layout, In<uint8_t> codes, int64_t n_rows, std::optional<Lists> lists,
             int64_t first_row) {
            new (self) OwnedPage(make_page(share<BinLayout>(layout), std::move(codes), n_rows, std::move(lists), first_row));
          },
          "layout"_a, "codes"_a, "n_rows"_a, "lists"_a = nb::none(), "first_row"_a = 0)
      .def_prop_ro("n_rows", [](const OwnedPage& self) { return self.page.n_rows; })
      .def_prop_ro(
          "first_row", [](const OwnedPage& self) { return self.page.first_row; }, "Id of its first row among all rows of the data set.");
}

}  // namespace sapwood
