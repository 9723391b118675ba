// Types of arrays, and the checks of arguments, for all bindings.
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
#include "core/float_mode.hpp"
#include "core/guard.hpp"
#include "core/interrupt.hpp"
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

// Runs the handlers of signals that have arrived (Ctrl-C); throws what they raise. Null outside of the main thread, where none run.
InterruptCheck signal_check();

// While it lives, the GIL is released, and this thread has the default float mode and can be interrupted: kernels run so.
struct Released {
  DefaultFloatMode mode;
  nb::gil_scoped_release gil;
  InterruptScope interrupt{signal_check()};
};

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

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using Array2 = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

// The same as a matrix, row by row.
template <class T>
Array2<T> to_numpy2(std::vector<T> values, size_t n_columns) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array2<T>(kept->data(), {kept->size() / n_columns, n_columns}, owner);
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

// A sparse matrix in compressed rows (CSR) or columns (CSC); the arrays live as long as it does. Checked once, so that the kernels need
// not.
struct OwnedMatrix {
  nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> values;
  In<int32_t> indices;
  In<int64_t> indptr;
  SparseMatrix matrix;

  OwnedMatrix(nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> values_, In<int32_t> indices_, In<int64_t> indptr_,
              int64_t n_minor, bool absent_missing, int n_threads)
      : values(std::move(values_)), indices(std::move(indices_)), indptr(std::move(indptr_)) {
    const char code = number_code(values.dtype());
    require(code != 0, "this kind of number is not read directly: convert it to float64");
    require(indptr.size() >= 1 && n_minor > 0 && n_minor < int64_t(1) << 31 && values.size() == indices.size(),
            "values, indices and indptr do not fit");
    matrix = {code, values.data(), indices.data(), indptr.data(), int64_t(indptr.size()) - 1, n_minor, absent_missing};
    require(is_sound(matrix, int64_t(values.size()), n_threads), "indices must be in range, and ascending in each row or column");
  }
};

// Cut points of features, end to end; the arrays live as long as it does. Checked once, so that the kernels need not.
struct OwnedCuts {
  In<double> values;
  In<int64_t> begin;

  OwnedCuts(In<double> values_, In<int64_t> begin_) : values(std::move(values_)), begin(std::move(begin_)) {
    require(begin.size() >= 1 && begin.data()[0] == 0 && begin.data()[begin.size() - 1] == int64_t(values.size()), "cuts do not fit");
    for (int f = 0; f < n_features(); ++f) require(n_cuts(f) >= 0 && n_cuts(f) <= 254, "a feature has 0 to 254 cuts");
  }
  int n_features() const { return int(begin.size()) - 1; }
  int64_t n_cuts(int feature) const { return begin.data()[feature + 1] - begin.data()[feature]; }
  Cuts cuts() const { return {values.data(), begin.data()}; }
};

// Memory of a page that is filled, and flags of its features; the arrays live as long as it does.
//   codes    (n_groups, n_rows, stride), zero where it is not written: see Page
//   width    columns of a group
//   missing  (n_features,): set to 1 where a value is missing
//   clashes  (n_features,): set to 1 where another feature already has the row in a shared column
struct PageBuffer {
  nb::ndarray<uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu> codes;
  int width;
  Out<uint8_t> missing, clashes;

  PageBuffer(nb::ndarray<uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu> codes_, int width_, Out<uint8_t> missing_,
             Out<uint8_t> clashes_)
      : codes(std::move(codes_)), width(width_), missing(std::move(missing_)), clashes(std::move(clashes_)) {
    require(width > 0 && stride() >= width, "stride must be at least width");
    require(n_rows() < int64_t(1) << 32, "too many rows");
    require(missing.size() == clashes.size(), "missing and clashes must have one entry for each feature");
  }
  int64_t n_rows() const { return int64_t(codes.shape(1)); }
  int stride() const { return int(codes.shape(2)); }
  int n_features() const { return int(missing.size()); }
  // The codes of a column: those of the next row are `stride` bytes further on.
  uint8_t* column(int c) const { return codes.data() + int64_t(c / width) * n_rows() * stride() + c % width; }
  void require_room(int n_columns, int64_t first_row, int64_t n) const {
    require(int64_t(codes.shape(0)) * width >= n_columns, "page has too few groups of columns");
    require(first_row >= 0 && first_row <= n_rows() - n, "page has too few rows");
  }
};

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

using Lists = std::pair<In<uint32_t>, In<uint32_t>>;  // where each row's list begins, (n_rows + 1,); the bins of the lists

// A page, and the arrays that live as long as it does. Checked once, so that the kernels need not.
struct OwnedPage {
  std::shared_ptr<const BinLayout> layout;
  In<uint8_t> codes;
  std::optional<Lists> lists;
  Page page;
};

// One for each file in this folder.
void bind_losses(nb::module_& m);
void bind_ranking(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_branches(nb::module_& m);
void bind_bundling(nb::module_& m);
void bind_pages(nb::module_& m);
void bind_rules(nb::module_& m);
void bind_nodes(nb::module_& m);
void bind_partition(nb::module_& m);
void bind_search(nb::module_& m);
void bind_sorted(nb::module_& m);
void bind_scoring(nb::module_& m);
void bind_linear_leaves(nb::module_& m);
void bind_file(nb::module_& m);
void bind_functions(nb::module_& m);
void bind_signals(nb::module_& m);

}  // namespace sapwood
