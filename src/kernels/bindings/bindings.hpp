// What the bindings share: kinds of arrays, and the checks that make it safe to hand them to kernels.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bins/binning.hpp"
#include "bins/layout.hpp"
#include "bins/sparse.hpp"
#include "core/guard.hpp"
#include "core/pool.hpp"
#include "loss/gradients.hpp"
#include "predict/scoring.hpp"

namespace sapwood {
namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Flat = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;  // of any shape, read as one list
using AnyTable = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Bytes = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weight = std::optional<In<double>>;

#ifdef SAPWOOD_MUTANTS
inline void require(bool ok, const char* what, std::source_location where = std::source_location::current()) {
  if (!ok && !is_removed(where)) throw std::invalid_argument(what);
}
#else
inline void require(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(what);
}
#endif

// A NumPy array that owns the values: give them away with std::move, or it is a copy that it owns.
template <class T>
auto to_numpy(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

inline char number_code(nb::dlpack::dtype type) {
  if (type.lanes != 1) return 0;
  if (type.code == uint8_t(nb::dlpack::dtype_code::Float)) return type.bits == 32 ? 'f' : type.bits == 64 ? 'd' : 0;
  if (type.code == uint8_t(nb::dlpack::dtype_code::Bool) && type.bits == 8) return 'B';
  const bool is_signed = type.code == uint8_t(nb::dlpack::dtype_code::Int);
  if (!is_signed && type.code != uint8_t(nb::dlpack::dtype_code::UInt)) return 0;
  const int k = type.bits == 8 ? 0 : type.bits == 16 ? 1 : type.bits == 32 ? 2 : type.bits == 64 ? 3 : -1;
  return k < 0 ? 0 : (is_signed ? "bhil" : "BHIL")[k];
}

inline Table as_table(const AnyTable& x) {
  const char code = number_code(x.dtype());
  require(code != 0, "this kind of number is not read directly: convert it to float64");
  return {code, x.data(), x.stride(0), x.stride(1), int64_t(x.shape(0)), int(x.shape(1))};
}

// The rows of a sparse table, or its columns; the arrays live as long as it does. Checked once, so that the kernels need not.
struct OwnedLines {
  nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> values;
  In<int32_t> across;
  In<int64_t> begin;
  Lines lines;

  OwnedLines(nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> values_, In<int32_t> across_, In<int64_t> begin_,
             int64_t n_across, bool absent_missing, int n_threads)
      : values(std::move(values_)), across(std::move(across_)), begin(std::move(begin_)) {
    const char code = number_code(values.dtype());
    require(code != 0, "this kind of number is not read directly: convert it to float64");
    require(begin.size() >= 1 && n_across > 0 && n_across < int64_t(1) << 31 && values.size() == across.size(), "lines do not fit");
    lines = {code, values.data(), across.data(), begin.data(), int64_t(begin.size()) - 1, n_across, absent_missing};
    require(is_sound(lines, int64_t(values.size()), n_threads), "entries must be in range, and ascending in each line");
  }
};

inline void check_cuts(const In<double>& cuts, const In<int64_t>& cuts_begin, int64_t n_features) {
  require(
      int64_t(cuts_begin.size()) == n_features + 1 && cuts_begin.data()[0] == 0 && cuts_begin.data()[n_features] == int64_t(cuts.size()),
      "cuts do not fit");
  for (int64_t f = 0; f < n_features; ++f) {
    const int64_t n_cuts = cuts_begin.data()[f + 1] - cuts_begin.data()[f];
    require(n_cuts >= 0 && n_cuts <= 254, "a feature has 0 to 254 cuts");
  }
}

// One plane of numbers for each output, (n_outputs, n) or (n,): a part of the columns of a larger array will do.
struct Planes {
  double* data;
  int64_t n_outputs, n, stride;
};

inline Planes as_planes(const nb::ndarray<double, nb::device::cpu>& x) {
  require(x.ndim() == 1 || x.ndim() == 2, "raw must be (n_rows,) or (n_outputs, n_rows)");
  const size_t last = x.ndim() - 1;
  require(x.shape(last) <= 1 || x.stride(last) == 1, "the rows of raw must lie side by side");
  return {x.data(), last ? int64_t(x.shape(0)) : 1, int64_t(x.shape(last)), last ? x.stride(0) : 0};
}

inline Rows as_rows(const In<double>& y, const In<double>& raw, const Weight& weight) {
  require(y.size() == raw.size() && (!weight || weight->size() == y.size()), "y, raw and weight must have the same length");
  return {y.data(), raw.data(), weight ? weight->data() : nullptr, int64_t(y.size())};
}

inline Rows part_of(const Rows& rows, int64_t begin, int64_t end) {
  return {rows.y + begin, rows.raw + begin, rows.weight ? rows.weight + begin : nullptr, end - begin};
}

constexpr int64_t kRowBlock = 8192;

// Calls f(begin, end) for blocks of rows, on several threads.
template <class F>
inline void over_rows(int64_t n, int n_threads, F&& f, int64_t block = kRowBlock) {
  parallel(n < 2 * block ? 1 : n_threads, (n + block - 1) / block, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) f(task * block, std::min(n, (task + 1) * block));
  });
}

// Rows of so many features that make a block.
inline int64_t block_of(int n_features) {
  return std::clamp<int64_t>((int64_t(1) << 18) / std::max(1, n_features) / 64 * 64, 64, kRowBlock);
}

// One column for each feature: feature f in column f.
inline ColumnLayout plain_columns(const In<int32_t>& missing_bin) {
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

using Lists = std::pair<In<uint32_t>, In<uint32_t>>;  // where each row's list begins, (n_rows + 1,); the bins of the lists

inline void check_lists(const ColumnLayout& columns, const Lists& lists, int64_t n_rows) {
  const auto& [begin, bins] = lists;
  require(int64_t(begin.size()) == n_rows + 1 && begin.data()[0] == 0 && begin.data()[n_rows] == bins.size(), "row lists do not fit");
  for (int64_t i = 0; i < n_rows; ++i) require(begin.data()[i] <= begin.data()[i + 1], "row lists do not fit");
  int bad = 0;
  for (size_t i = 0; i < bins.size(); ++i) bad |= int64_t(bins.data()[i]) >= columns.n_list_bins;
  require(!bad, "a bin of a row list is out of range");
}

// A page, and the arrays that live as long as it does. Checked once, so that the kernels need not.
struct OwnedPage {
  std::shared_ptr<const BinLayout> layout;
  In<uint8_t> codes;
  std::optional<Lists> lists;
  Page page;
};

// One for each file here.
void bind_losses(nb::module_& m);
void bind_ranking(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_bundling(nb::module_& m);
void bind_pages(nb::module_& m);
void bind_rules(nb::module_& m);
void bind_growing(nb::module_& m);
void bind_scoring(nb::module_& m);
void bind_linear_leaves(nb::module_& m);
void bind_file(nb::module_& m);

}  // namespace sapwood
