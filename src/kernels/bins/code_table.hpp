// Numbers by the stored code of a feature's bin, and how to read them for a row of a page.
#pragma once
#include <cstdint>

#include "bins/layout.hpp"

namespace sapwood {

// A number for each bin of a feature, by the code that a page stores. Codes of other features in a shared column stand for the default bin.
template <class T>
struct CodeTable {
  FeatureStorage storage;
  T by_code[256];  // in row lists: by stored bin
  T of_default{};

  // of_bin(b) for b = 0, ..., n_bins - 1.
  template <class OfBin>
  void fill(const FeatureStorage& where, int n_bins, OfBin&& of_bin) {
    storage = where;
    of_default = storage.default_bin == kNoDefault ? T{} : of_bin(storage.default_bin);
    for (T& value : by_code) value = of_default;
    const int first = storage.column == kRowList ? 0 : storage.first;
    for (int b = 0; b < n_bins; ++b) {
      if (b != storage.default_bin) by_code[first + storage.stored_of(b)] = of_bin(b);
    }
  }

  // The number of a row.
  T read(const Page& page, int width, int stride, int64_t row) const {
    if (storage.column == kRowList) {
      const uint32_t *list = page.list_bins + page.list_begin[row], *end = page.list_bins + page.list_begin[row + 1];
      const uint32_t stored = find_listed(storage, list, end);
      return stored == kNotListed ? of_default : by_code[stored];
    }
    return by_code[page.codes[(int64_t(storage.column / width) * page.n_rows + row) * stride + storage.column % width]];
  }
};

}  // namespace sapwood
