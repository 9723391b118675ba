// Where the bins of a feature are kept, and the sums of each in a histogram.
//
// Most features have a column of their own: a byte for every row. A feature that is nearly always in the same bin, its common one, need
// not: rows in that bin are not written down, and what they add to a histogram is what is left of the node's sums. Such a feature shares
// a column with others of its kind if no row has two of them away from their common bins (one-hot columns), or else its other bins lie
// beside the rows, as a list for each row. Neither changes a sum.
#pragma once
#include <cstdint>
#include <vector>

namespace sapwood {

inline constexpr int kBeside = -1;    // the column of a feature whose bins lie beside the rows
inline constexpr int kNoCommon = -1;  // the common bin of a feature whose bins are all written

// How the bins of one feature are written.
struct Place {
  int column = 0;          // or kBeside
  int common = kNoCommon;  // the bin that is not written
  int first = 0;           // the code of its first bin in its column; beside the rows, among all such features' bins
  int n_stored = 0;        // its bins that are written

  int bin_of(int stored) const { return common == kNoCommon || stored < common ? stored : stored + 1; }
  int stored_of(int bin) const { return common == kNoCommon || bin < common ? bin : bin - 1; }  // of any bin but the common one
};

// Where all features are.
struct Places {
  std::vector<Place> of;          // each feature
  std::vector<int32_t> n_codes;   // of each column
  int64_t n_beside = 0;           // bins that are written beside the rows, in all
  std::vector<uint32_t> members;  // features by column, then those beside the rows

  int n_columns() const { return int(n_codes.size()); }
};

// Binned rows. Columns are stored in groups: group k is an (n_rows, stride) matrix that holds `width` columns of each row.
struct Page {
  const uint8_t* bins;
  int64_t n_rows;
  int64_t start;           // global id of its first row
  const uint32_t* begin;   // (n_rows + 1,): where each row's list beside it begins; null if no feature is kept so
  const uint32_t* beside;  // bins, ascending in each row
};

// The bins of a node's children: whether a row with this code of the split's column goes left. All that do not belong to the feature
// stand for its common bin.
struct Sides {
  uint8_t left[256];  // by code; beside the rows, by stored bin
  uint8_t common = 0;

  template <class GoesLeft>
  void fill(const Place& place, int n_bins, GoesLeft&& goes_left) {
    common = place.common != kNoCommon && goes_left(place.common);
    for (auto& side : left) side = common;
    const int first = place.column == kBeside ? 0 : place.first;
    for (int b = 0; b < n_bins; ++b) {
      if (b != place.common) left[first + place.stored_of(b)] = goes_left(b);
    }
  }
};

// The side of a row by its list.
inline uint8_t side_beside(const Place& place, const Sides& sides, const uint32_t* list, const uint32_t* end) {
  const uint32_t first = uint32_t(place.first);
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
  return list < end && *list - first < uint32_t(place.n_stored) ? sides.left[*list - first] : sides.common;
}

// How features and columns lie in a page and in a histogram.
struct Layout {
  Places places;
  int n_features = 0;
  int width = 0;   // columns of a group
  int stride = 0;  // bytes of a row in a group
  int n_groups = 0;
  std::vector<uint32_t> offsets;       // (n_groups * padded width,): where a column's bins begin in a histogram
  std::vector<uint32_t> column_begin;  // (n_columns + 1,): the same without padding; the last is where those beside the rows begin
  std::vector<int32_t> n_bins;         // (n_features,) with the missing bin
  std::vector<uint8_t> missing;        // (n_features,) has a missing bin
  std::vector<int32_t> missing_bin;    // (n_features,): where missing values fall, seen in training or not
  std::vector<uint32_t> member_begin;  // (n_units + 1,): of each unit's features among the members
  std::vector<uint32_t> beside_unit;   // of each bin beside the rows
  std::vector<uint32_t> unit_begin;    // (n_units + 1,): of each unit's cells
  int64_t n_cells = 0;

  // A unit is what is searched for splits at once: a column, or a feature beside the rows.
  int n_units() const { return int(member_begin.size()) - 1; }
  int n_columns() const { return places.n_columns(); }
  bool any_beside() const { return places.n_beside > 0; }
  uint32_t beside_begin() const { return column_begin.back(); }
  uint32_t cell(int feature) const {
    const Place& place = places.of[feature];
    return (place.column == kBeside ? beside_begin() : column_begin[place.column]) + uint32_t(place.first);
  }
  int padded_width() const { return (width + 3) / 4 * 4; }
};

}  // namespace sapwood
