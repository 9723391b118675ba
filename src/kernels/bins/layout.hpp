// Where the bins of each feature are stored, and the sums of each bin in a histogram.
//
// Most features have a column of their own: one byte for every row. A feature that is nearly always in the same bin, its default bin, can
// be bundled: rows in the default bin store nothing, and their sums in a histogram are the node's sums less those of the other bins. Such
// features share a column if no row has two of them outside their default bins (one-hot columns); otherwise their bins are stored in row
// lists, one list of bins for each row. No sum depends on the storage.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace sapwood {

inline constexpr int kRowList = -1;    // the column of a feature whose bins are stored in row lists
inline constexpr int kNoDefault = -1;  // the default bin of a feature that stores all its bins

// Storage of one feature's bins.
struct FeatureStorage {
  int column = 0;                // or kRowList
  int default_bin = kNoDefault;  // the bin that is not stored
  int first = 0;                 // the code of its first stored bin in its column; in row lists, among the bins of all listed features
  int n_stored = 0;              // number of its stored bins

  // The stored number of a bin that is not the default bin.
  int stored_of(int bin) const { return default_bin == kNoDefault || bin < default_bin ? bin : bin - 1; }
  bool operator==(const FeatureStorage&) const = default;
};

// Columns and row lists of all features.
struct ColumnLayout {
  std::vector<FeatureStorage> features;
  std::vector<int32_t> n_codes;   // of each column
  int64_t n_list_bins = 0;        // number of bins that are stored in row lists
  std::vector<uint32_t> members;  // features by column, then those in row lists

  int n_columns() const { return int(n_codes.size()); }
  bool operator==(const ColumnLayout&) const = default;
};

// Binned rows. Columns are stored in groups: group k is an (n_rows, stride) matrix that holds `width` columns of each row.
struct Page {
  const uint8_t* codes = nullptr;
  int64_t n_rows = 0;
  int64_t first_row = 0;                 // id of its first row among all rows of the data set
  const uint32_t* list_begin = nullptr;  // (n_rows + 1,): where each row's list begins; null if no feature is stored in row lists
  const uint32_t* list_bins = nullptr;   // ascending in each row
};

// The sides of a split's bins: whether a row with a code of the split's column goes left. Codes of other features in a shared column
// stand for the default bin.
struct Sides {
  uint8_t left[256];  // by code; in row lists, by stored bin
  uint8_t default_side = 0;

  template <class GoesLeft>
  void fill(const FeatureStorage& storage, int n_bins, GoesLeft&& goes_left) {
    default_side = storage.default_bin != kNoDefault && goes_left(storage.default_bin);
    for (auto& side : left) side = default_side;
    const int first = storage.column == kRowList ? 0 : storage.first;
    for (int b = 0; b < n_bins; ++b) {
      if (b != storage.default_bin) left[first + storage.stored_of(b)] = goes_left(b);
    }
  }
};

inline constexpr uint32_t kNotListed = 0xffffffffu;

// The stored bin of a feature in a row's list; kNotListed for its default bin.
inline uint32_t find_listed(const FeatureStorage& storage, const uint32_t* list, const uint32_t* end) {
  const uint32_t first = uint32_t(storage.first);
  size_t n = size_t(end - list);
  while (n > 64) {
    const size_t half = n / 2;
    const bool below = list[half] < first;
    list = below ? list + half + 1 : list;
    n = below ? n - half - 1 : half;
  }
  uint32_t below = 0;  // counting all is faster than branching on each
  for (size_t k = 0; k < n; ++k) below += list[k] < first;
  list += below;
  return list < end && *list - first < uint32_t(storage.n_stored) ? *list - first : kNotListed;
}

// The side of a row by its list.
inline uint8_t side_listed(const FeatureStorage& storage, const Sides& sides, const uint32_t* list, const uint32_t* end) {
  const uint32_t stored = find_listed(storage, list, end);
  return stored == kNotListed ? sides.default_side : sides.left[stored];
}

// Layout of features and columns in a page and in a histogram.
struct BinLayout {
  ColumnLayout columns;
  int n_features = 0;
  int width = 0;   // columns of a group
  int stride = 0;  // bytes of a row in a group
  int n_groups = 0;
  std::vector<uint32_t> offsets;       // (n_groups * padded width,): where a column's bins begin in a histogram
  std::vector<uint32_t> column_begin;  // (n_columns + 1,): the same without padding; the last is where the bins of row lists begin
  std::vector<int32_t> n_bins;         // (n_features,) with the missing bin
  std::vector<uint8_t> missing;        // (n_features,) has a missing bin
  std::vector<int32_t> missing_bin;    // (n_features,): the bin of missing values, seen in training or not
  std::vector<uint32_t> member_begin;  // (n_units + 1,): where each unit's features begin among the members
  std::vector<uint32_t> list_unit;     // unit of each bin in row lists
  std::vector<uint32_t> unit_begin;    // (n_units + 1,): where each unit's cells begin
  int64_t n_cells = 0;

  // A unit is searched for splits at once: a column, or a feature in row lists.
  int n_units() const { return int(member_begin.size()) - 1; }
  int n_columns() const { return columns.n_columns(); }
  bool any_lists() const { return columns.n_list_bins > 0; }
  uint32_t lists_begin() const { return column_begin.back(); }
  uint32_t cell(int feature) const {
    const FeatureStorage& storage = columns.features[feature];
    return (storage.column == kRowList ? lists_begin() : column_begin[storage.column]) + uint32_t(storage.first);
  }
  int padded_width() const { return (width + 3) / 4 * 4; }
  bool operator==(const BinLayout&) const = default;
};

}  // namespace sapwood
