// The row lists of a page, by bin.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "bins/layout.hpp"
#include "core/fixed.hpp"
#include "core/pool.hpp"

namespace sapwood {

inline constexpr int64_t kPackedListBins = 1024;  // bins in row lists above which unpacking their sums costs more than packing saves
inline constexpr int64_t kTileRows = 2047;        // whose packed gradients fill half of the nearest cache; two tiles make a block
static_assert(2 * kTileRows <= kBlockRows);

// The rows of each bin, in tiles of consecutive rows: the values of a tile stay in the cache while its bins are summed up one by one.
// Where there are many bins, and so few rows of each, there is one tile.
class InvertedLists {
 public:
  InvertedLists() = default;
  InvertedLists(const Page& page, int64_t n_bins, int n_threads)
      : n_rows_(page.n_rows),
        n_bins_(n_bins),
        tile_rows_(n_bins <= kPackedListBins ? kTileRows : std::max<int64_t>(1, page.n_rows)),
        n_tiles_((page.n_rows + tile_rows_ - 1) / tile_rows_),
        begin_(size_t(n_tiles_ * n_bins + 1)),
        rows_(page.list_begin[page.n_rows]) {
    parallel(n_threads, n_tiles_, [&](int, Tasks& tasks) {
      for (int64_t tile; (tile = tasks.claim()) >= 0;) {
        const int64_t first = tile * tile_rows_, last = std::min(page.n_rows, first + tile_rows_);
        std::vector<uint32_t> at(n_bins + 1);
        for (uint32_t k = page.list_begin[first]; k < page.list_begin[last]; ++k) ++at[page.list_bins[k] + 1];
        at[0] = page.list_begin[first];
        for (int64_t b = 0; b < n_bins; ++b) {
          at[b + 1] += at[b];
          begin_[tile * n_bins + b + 1] = at[b + 1];
        }
        for (int64_t row = first; row < last; ++row) {
          for (uint32_t k = page.list_begin[row]; k < page.list_begin[row + 1]; ++k) rows_[at[page.list_bins[k]]++] = uint32_t(row);
        }
      }
    });
  }

  // Calls f(rows, end) for each tile's rows of a bin, ascending.
  template <class F>
  void visit(int64_t bin, F&& f) const {
    for (int64_t tile = 0; tile < n_tiles_; ++tile) visit_in(tile, bin, f);
  }
  template <class F>
  void visit_in(int64_t tile, int64_t bin, F&& f) const {
    const uint32_t* at = begin_.data() + tile * n_bins_ + bin;
    f(rows_.data() + at[0], rows_.data() + at[1]);
  }

  // The number of a bin's rows.
  int64_t count(int64_t bin) const {
    int64_t n = 0;
    visit(bin, [&](const uint32_t* rows, const uint32_t* end) { n += end - rows; });
    return n;
  }

  // The number of the tile that these rows are, or -1.
  int64_t tile(int64_t first, int64_t n) const {
    return tile_rows_ == kTileRows && first % tile_rows_ == 0 && n == std::min<int64_t>(tile_rows_, n_rows_ - first) ? first / tile_rows_
                                                                                                                     : -1;
  }
  int64_t n_bins() const { return n_bins_; }

 private:
  int64_t n_rows_ = 0, n_bins_ = 0, tile_rows_ = 1, n_tiles_ = 0;
  std::vector<uint32_t> begin_;  // (n_tiles, n_bins) and the end
  std::vector<uint32_t> rows_;
};

}  // namespace sapwood
