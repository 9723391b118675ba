// What lies beside the rows of a page, for histograms of few bins: four bins a word.
#pragma once
#include <cstdint>
#include <vector>

#include "bins/layout.hpp"

namespace sapwood {

// A list for each row whose last word is filled up with a bin after all others. Rows of much the same length take the same number of steps,
// which the processor can foresee.
struct ShortLists {
  std::vector<uint32_t> begin;  // (n_rows + 1,)
  std::vector<uint64_t> words;

  ShortLists() = default;
  ShortLists(const Page& page, uint16_t filler) : begin(size_t(page.n_rows) + 1) {
    for (int64_t row = 0; row < page.n_rows; ++row) begin[row + 1] = begin[row] + (page.begin[row + 1] - page.begin[row] + 3) / 4;
    words.resize(begin.back());
    for (int64_t row = 0; row < page.n_rows; ++row) {
      uint32_t k = page.begin[row];
      for (uint32_t w = begin[row]; w < begin[row + 1]; ++w) {
        for (int shift = 0; shift < 64; shift += 16, ++k) {
          words[w] |= uint64_t(k < page.begin[row + 1] ? page.beside[k] : filler) << shift;
        }
      }
    }
  }
};

}  // namespace sapwood
