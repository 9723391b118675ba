// The row lists of a page, for histograms of few bins: four bins in a word.
#pragma once
#include <cstdint>
#include <vector>

#include "bins/layout.hpp"

namespace sapwood {

// One list for each row; its last word is filled up with a bin after all others. Rows of similar length take the same number of steps,
// which the processor can predict.
struct ShortLists {
  std::vector<uint32_t> begin;  // (n_rows + 1,)
  std::vector<uint64_t> words;

  ShortLists() = default;
  ShortLists(const Page& page, uint16_t filler) : begin(size_t(page.n_rows) + 1) {
    for (int64_t row = 0; row < page.n_rows; ++row) begin[row + 1] = begin[row] + (page.list_begin[row + 1] - page.list_begin[row] + 3) / 4;
    words.resize(begin.back());
    for (int64_t row = 0; row < page.n_rows; ++row) {
      uint32_t k = page.list_begin[row];
      for (uint32_t w = begin[row]; w < begin[row + 1]; ++w) {
        for (int shift = 0; shift < 64; shift += 16, ++k) {
          words[w] |= uint64_t(k < page.list_begin[row + 1] ? page.list_bins[k] : filler) << shift;
        }
      }
    }
  }
};

}  // namespace sapwood
