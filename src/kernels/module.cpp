// The one binding file: what Python may call, and the checks that make it safe to.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "binning.hpp"
#include "file.hpp"
#include "fingerprint.hpp"
#include "gradients.hpp"
#include "hash.hpp"
#include "pool.hpp"
#include "quantiles.hpp"
#include "ranking.hpp"
#include "sampling.hpp"
#include "scoring.hpp"
#include "shap.hpp"
#include "sorted.hpp"
#include "sparse.hpp"
#include "statistics.hpp"
#include "vectors.hpp"
#include "workspace.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sapwood;

namespace {

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

void require(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(what);
}

// A NumPy array that owns a copy of the values.
template <class T, class V>
auto to_numpy(V&& values) {
  std::vector<T>* kept;
  if constexpr (std::is_same_v<V, std::vector<T>>) {
    kept = new std::vector<T>(std::move(values));
  } else {
    kept = new std::vector<T>(values.begin(), values.end());
  }
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

char number_code(nb::dlpack::dtype type) {
  if (type.lanes != 1) return 0;
  if (type.code == uint8_t(nb::dlpack::dtype_code::Float)) return type.bits == 32 ? 'f' : type.bits == 64 ? 'd' : 0;
  if (type.code == uint8_t(nb::dlpack::dtype_code::Bool) && type.bits == 8) return 'B';
  const bool is_signed = type.code == uint8_t(nb::dlpack::dtype_code::Int);
  if (!is_signed && type.code != uint8_t(nb::dlpack::dtype_code::UInt)) return 0;
  const int k = type.bits == 8 ? 0 : type.bits == 16 ? 1 : type.bits == 32 ? 2 : type.bits == 64 ? 3 : -1;
  return k < 0 ? 0 : (is_signed ? "bhil" : "BHIL")[k];
}

Table as_table(const AnyTable& x) {
  const char code = number_code(x.dtype());
  require(code != 0, "this kind of number is not read directly: convert it to float64");
  return {code, x.data(), x.stride(0), x.stride(1), int64_t(x.shape(0)), int(x.shape(1))};
}

// A NumPy array that owns the values themselves.
template <class T>
auto give_numpy(std::vector<T>&& values) {
  auto* own = new std::vector<T>(std::move(values));
  nb::capsule owner(own, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(own->data(), {own->size()}, owner);
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

void check_cuts(const In<double>& cuts, const In<int64_t>& cuts_begin, int64_t n_features) {
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

Planes as_planes(const nb::ndarray<double, nb::device::cpu>& x) {
  require(x.ndim() == 1 || x.ndim() == 2, "raw must be (n_rows,) or (n_outputs, n_rows)");
  const size_t last = x.ndim() - 1;
  require(x.shape(last) <= 1 || x.stride(last) == 1, "the rows of raw must lie side by side");
  return {x.data(), last ? int64_t(x.shape(0)) : 1, int64_t(x.shape(last)), last ? x.stride(0) : 0};
}

Rows as_rows(const In<double>& y, const In<double>& raw, const Weight& weight) {
  require(y.size() == raw.size() && (!weight || weight->size() == y.size()), "y, raw and weight must have the same length");
  return {y.data(), raw.data(), weight ? weight->data() : nullptr, int64_t(y.size())};
}

Rows part_of(const Rows& rows, int64_t begin, int64_t end) {
  return {rows.y + begin, rows.raw + begin, rows.weight ? rows.weight + begin : nullptr, end - begin};
}

AnyLoss as_loss(int kind, double parameter) {
  require(kind >= 0 && kind <= kLastLoss, "no such loss");
  return {LossKind(kind), parameter};
}

constexpr int64_t kRowBlock = 8192;

// Calls f(begin, end) for blocks of rows, on several threads.
template <class F>
void over_rows(int64_t n, int n_threads, F&& f, int64_t block = kRowBlock) {
  parallel(n < 2 * block ? 1 : n_threads, (n + block - 1) / block, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) f(task * block, std::min(n, (task + 1) * block));
  });
}

// Rows of so many features that make a block.
int64_t block_of(int n_features) { return std::clamp<int64_t>((int64_t(1) << 18) / std::max(1, n_features) / 64 * 64, 64, kRowBlock); }

// Calls f(begin, end) -> RecordSums for blocks of rows and adds up the answers.
template <class F>
std::tuple<int64_t, int64_t, int64_t> sum_over_rows(int64_t n, int n_threads, F&& f) {
  std::mutex adding;
  RecordSums sums;
  over_rows(n, n_threads, [&](int64_t begin, int64_t end) {
    const RecordSums part = f(begin, end);
    std::lock_guard<std::mutex> guard(adding);
    sums.abs_gradient += part.abs_gradient, sums.gradient += part.gradient, sums.hessian += part.hessian;
  });
  return {sums.abs_gradient, sums.gradient, sums.hessian};
}

// Calls f(begin, end) -> Extent for blocks of rows and joins the answers.
template <class F>
std::pair<double, double> extent_over_rows(int64_t n, int n_threads, F&& f) {
  std::mutex joining;
  Extent extent;
  over_rows(n, n_threads, [&](int64_t begin, int64_t end) {
    const Extent part = f(begin, end);
    std::lock_guard<std::mutex> guard(joining);
    // A NaN, once met, stays.
    auto join = [](double a, double b) { return a != a || a >= b ? a : b; };
    extent = {join(extent.gradient, part.gradient), join(extent.hessian, part.hessian)};
  });
  return {extent.gradient, extent.hessian};
}

std::pair<double, double> loss_extent_py(int kind, In<double> y, In<double> raw, Weight weight, int n_threads, double parameter) {
  const Rows rows = as_rows(y, raw, weight);
  const AnyLoss loss = as_loss(kind, parameter);
  return extent_over_rows(rows.n, n_threads, [&](int64_t begin, int64_t end) { return extent_any(loss, part_of(rows, begin, end)); });
}

std::pair<double, double> array_extent(In<double> gradients, In<double> hessians, int n_threads) {
  const Rows rows = as_rows(gradients, hessians, std::nullopt);
  return extent_over_rows(rows.n, n_threads, [&](int64_t begin, int64_t end) { return loss_extent(Given{}, part_of(rows, begin, end)); });
}

int record_size_of(const Bytes& records, int64_t n) {
  const bool pairs = records.size() == size_t(n) * sizeof(Pair);
  require(pairs || records.size() == size_t(n) * sizeof(Single), "records must have 4 or 8 bytes for each row");
  return pairs ? sizeof(Pair) : sizeof(Single);
}

std::tuple<int64_t, int64_t, int64_t> loss_records_py(int kind, In<double> y, In<double> raw, Weight weight, double gradient_scale,
                                                      double hessian_scale, Bytes out, int n_threads, double parameter) {
  const Rows rows = as_rows(y, raw, weight);
  const AnyLoss loss = as_loss(kind, parameter);
  const int size = record_size_of(out, rows.n);
  return sum_over_rows(rows.n, n_threads, [&](int64_t begin, int64_t end) {
    return records_any(loss, part_of(rows, begin, end), gradient_scale, hessian_scale, size, out.data() + begin * size);
  });
}

std::tuple<int64_t, int64_t, int64_t> array_records(In<double> gradients, Weight hessians, double gradient_scale, double hessian_scale,
                                                    Bytes out, int n_threads) {
  const int64_t n = int64_t(gradients.size());
  require(!hessians || hessians->size() == gradients.size(), "gradients and hessians must have the same length");
  const int size = record_size_of(out, n);
  return sum_over_rows(n, n_threads, [&](int64_t begin, int64_t end) {
    return records_of(gradients.data() + begin, hessians ? hessians->data() + begin : nullptr, end - begin, gradient_scale, hessian_scale,
                      size, out.data() + begin * size);
  });
}

void loss_values_py(int kind, In<double> y, In<double> raw, Weight weight, Out<double> out, int n_threads, double parameter) {
  const Rows rows = as_rows(y, raw, weight);
  require(int64_t(out.size()) == rows.n, "out must have one value for each row");
  const AnyLoss loss = as_loss(kind, parameter);
  over_rows(rows.n, n_threads, [&](int64_t begin, int64_t end) { values_any(loss, part_of(rows, begin, end), out.data() + begin); });
}

void loss_gradients_py(int kind, In<double> y, In<double> raw, Weight weight, Out<double> gradients, Out<double> hessians, int n_threads,
                       double parameter) {
  const Rows rows = as_rows(y, raw, weight);
  require(int64_t(gradients.size()) == rows.n && int64_t(hessians.size()) == rows.n, "out must have one value for each row");
  const AnyLoss loss = as_loss(kind, parameter);
  over_rows(rows.n, n_threads, [&](int64_t begin, int64_t end) {
    gradients_any(loss, part_of(rows, begin, end), gradients.data() + begin, hessians.data() + begin);
  });
}

void check_classes(const In<double>& y, int n_classes) {
  for (size_t i = 0; i < y.size(); ++i) require(y.data()[i] >= 0 && y.data()[i] < n_classes, "y must hold class numbers");
}

// The records of the rows [first, last).
std::vector<std::tuple<int64_t, int64_t, int64_t>> softmax_records_py(In<double> y, In2<double> raw, Weight weight, double gradient_scale,
                                                                      double hessian_scale, Out2<uint8_t> out, int64_t first, int64_t last,
                                                                      int n_threads) {
  const int64_t n = int64_t(y.size());
  const int n_classes = int(raw.shape(0));
  require(n_classes > 0, "there must be a class");
  require(int64_t(raw.shape(1)) == n && (!weight || int64_t(weight->size()) == n), "y, raw and weight must have the same length");
  require(int64_t(out.shape(0)) == n_classes && int64_t(out.shape(1)) == n * int64_t(sizeof(Pair)),
          "out must be (n_classes, n rows of 8 bytes)");
  require(0 <= first && first <= last && last <= n, "rows out of range");
  std::mutex adding;
  std::vector<RecordSums> sums(n_classes);
  over_rows(last - first, n_threads, [&](int64_t begin, int64_t end) {
    begin += first, end += first;
    std::vector<FourSums> four(n_classes);
    std::vector<double> scratch(4 * n_classes);
    softmax_records(y.data() + begin, raw.data() + begin, weight ? weight->data() + begin : nullptr, end - begin, n, n_classes,
                    gradient_scale, hessian_scale, reinterpret_cast<Pair*>(out.data()) + begin, four.data(), scratch.data());
    std::lock_guard<std::mutex> guard(adding);
    for (int k = 0; k < n_classes; ++k) {
      const RecordSums part = four[k].joined();
      sums[k].abs_gradient += part.abs_gradient, sums[k].gradient += part.gradient, sums[k].hessian += part.hessian;
    }
  });
  std::vector<std::tuple<int64_t, int64_t, int64_t>> result;
  for (const RecordSums& s : sums) result.emplace_back(s.abs_gradient, s.gradient, s.hessian);
  return result;
}

void softmax_values_py(In<double> y, In2<double> raw, Weight weight, Out<double> out, int n_threads) {
  const int64_t n = int64_t(y.size());
  const int n_classes = int(raw.shape(0));
  require(int64_t(raw.shape(1)) == n && int64_t(out.size()) == n && (!weight || int64_t(weight->size()) == n),
          "y, raw, weight and out must have the same length");
  check_classes(y, n_classes);
  over_rows(n, n_threads, [&](int64_t begin, int64_t end) {
    std::vector<double> scratch(4 * n_classes);
    softmax_values(y.data() + begin, raw.data() + begin, weight ? weight->data() + begin : nullptr, end - begin, n, n_classes,
                   out.data() + begin, scratch.data());
  });
}

void apply_link(const std::string& link, Out2<double> raw, int n_threads) {
  require(link == "identity" || link == "logit" || link == "log" || link == "softmax", "no such link");
  const int64_t n = int64_t(raw.shape(0)), k = int64_t(raw.shape(1));
  over_rows(n, n_threads, [&](int64_t begin, int64_t end) {
    double* at = raw.data() + begin * k;
    if (link == "logit") logistic_link(at, (end - begin) * k);
    if (link == "log") exp_link(at, (end - begin) * k);
    if (link == "softmax") softmax_link(at, end - begin, int(k));
  });
}

// raw (n_outputs, n_rows) += values, (n_leaves, n_outputs), of each row's leaf.
void add_leaf_values_py(Bytes leaves, int leaf_size, Flat<double> values, nb::ndarray<double, nb::device::cpu> raw, int n_threads) {
  const Planes to = as_planes(raw);
  require(leaf_size == 1 || leaf_size == 2 || leaf_size == 4, "leaf_size must be 1, 2 or 4");
  require(int64_t(leaves.size()) == to.n * leaf_size, "leaves and raw must have the same length");
  require(to.n_outputs > 0 && int64_t(values.size()) % to.n_outputs == 0, "a leaf must have a value for each output");
  const int64_t n_leaves = int64_t(values.size()) / to.n_outputs;
  std::vector<double> by_output(values.size());
  for (int64_t i = 0; i < n_leaves; ++i) {
    for (int64_t k = 0; k < to.n_outputs; ++k) by_output[k * n_leaves + i] = values.data()[i * to.n_outputs + k];
  }
  std::atomic<bool> ok{true};
  over_rows(to.n, n_threads, [&](int64_t begin, int64_t end) {
    const uint8_t* part = leaves.data() + begin * leaf_size;
    for (int64_t k = 0; k < to.n_outputs; ++k) {
      double* out = to.data + k * to.stride + begin;
      if (!add_leaf_values(part, leaf_size, by_output.data() + k * n_leaves, n_leaves, end - begin, out)) ok = false;
    }
  });
  require(ok, "leaf out of range");
}

// Calls f(planes) with one pointer to records for each output: all of the same kind, n of them.
template <class F>
auto with_planes(const std::vector<Bytes>& planes, int64_t n, F&& f) {
  require(!planes.empty(), "there must be an output");
  const int size = record_size_of(planes[0], n);
  for (const Bytes& plane : planes) require(plane.size() == size_t(n) * size, "all outputs must have records of the same size");
  auto call = [&](auto record) {
    std::vector<const decltype(record)*> pointers;
    for (const Bytes& plane : planes) pointers.push_back(reinterpret_cast<const decltype(record)*>(plane.data()));
    return f(pointers);
  };
  return size == sizeof(Pair) ? call(Pair{}) : call(Single{});
}

std::pair<double, double> project_records_py(std::vector<Bytes> planes, In<double> gradient_weights, In<double> hessian_weights,
                                             Out<double> gradient, std::optional<Out<double>> hessian, int n_threads) {
  const int64_t n = int64_t(gradient.size());
  require(gradient_weights.size() == planes.size() && hessian_weights.size() == planes.size(), "one weight for each output");
  require(!hessian || int64_t(hessian->size()) == n, "gradient and hessian must have the same length");
  std::mutex joining;
  Extent extent;
  with_planes(planes, n, [&](const auto& pointers) {
    over_rows(n, n_threads, [&](int64_t begin, int64_t end) {
      auto at = pointers;
      for (auto& plane : at) plane += begin;
      const Extent part = project_records(at.data(), int(at.size()), gradient_weights.data(), hessian_weights.data(), end - begin,
                                          gradient.data() + begin, hessian ? hessian->data() + begin : nullptr);
      std::lock_guard<std::mutex> guard(joining);
      extent = {std::max(extent.gradient, part.gradient), std::max(extent.hessian, part.hessian)};
    });
  });
  return {extent.gradient, extent.hessian};
}

// The exact sums of every output's gradients and hessians in each leaf, (n_leaves, n_outputs) each.
//   leaves  (n_rows,) numbers of 1, 2 or 4 bytes
void leaf_sums(const std::vector<Bytes>& planes, Bytes leaves, int leaf_size, Out2<int64_t> gradient, Out2<int64_t> hessian,
               int n_threads) {
  require(leaf_size == 1 || leaf_size == 2 || leaf_size == 4, "leaf_size must be 1, 2 or 4");
  const int64_t n = int64_t(leaves.size()) / leaf_size, n_leaves = int64_t(gradient.shape(0)), n_outputs = int64_t(planes.size());
  require(int64_t(leaves.size()) == n * leaf_size, "leaves do not fit");
  require(int64_t(gradient.shape(1)) == n_outputs && int64_t(hessian.shape(0)) == n_leaves && int64_t(hessian.shape(1)) == n_outputs,
          "sums must be (n_leaves, n_outputs)");
  std::vector<std::vector<LeafSum>> of_thread(std::max(1, n_threads));
  std::atomic<bool> ok{true};
  with_planes(planes, n, [&](const auto& pointers) {
    parallel(n < 2 * kRowBlock ? 1 : n_threads, (n + kRowBlock - 1) / kRowBlock, [&](int participant, Tasks& tasks) {
      auto& sums = of_thread[participant];
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        const int64_t begin = task * kRowBlock, end = std::min(n, begin + kRowBlock);
        sums.resize(size_t(n_outputs) * 2 * n_leaves);
        auto add = [&](auto* all) {
          auto* of_row = all + begin;
          if (begin < end && int64_t(*std::max_element(of_row, of_row + (end - begin))) >= n_leaves) {
            ok = false;
            return;
          }
          for (int64_t k = 0; k < n_outputs; ++k) {
            add_by_leaf(of_row, pointers[k] + begin, end - begin, n_leaves, sums.data() + k * 2 * n_leaves);
          }
        };
        if (leaf_size == 1) add(leaves.data());
        if (leaf_size == 2) add(reinterpret_cast<const uint16_t*>(leaves.data()));
        if (leaf_size == 4) add(reinterpret_cast<const uint32_t*>(leaves.data()));
      }
    });
  });
  require(ok, "leaf out of range");
  std::fill_n(gradient.data(), n_leaves * n_outputs, 0);
  std::fill_n(hessian.data(), n_leaves * n_outputs, 0);
  for (const auto& sums : of_thread) {
    for (size_t i = 0; i < sums.size(); ++i) {
      const int64_t at = int64_t(i) % n_leaves * n_outputs + int64_t(i) / (2 * n_leaves);
      gradient.data()[at] += sums[i].g, hessian.data()[at] += sums[i].h;
    }
  }
}

RankedRows as_queries(const In<double>& gain, const In<double>& raw, const Weight& weight, const In<int64_t>& begin,
                      const In<double>& unit) {
  const int64_t n = int64_t(gain.size());
  require(int64_t(raw.size()) == n && (!weight || int64_t(weight->size()) == n), "gain, raw and weight must have the same length");
  require(begin.size() == unit.size() + 1 && begin.data()[0] == 0 && begin.data()[unit.size()] == n, "queries must cover the rows");
  for (size_t q = 0; q < unit.size(); ++q) {
    const int64_t size = begin.data()[q + 1] - begin.data()[q];
    require(size > 0 && size < int64_t(1) << 32, "a query has at least one row");
  }
  return {gain.data(), raw.data(), weight ? weight->data() : nullptr, begin.data(), unit.data(), int64_t(unit.size())};
}

RankMeasure as_measure(int measure, RankMeasure last) {
  require(measure >= 0 && measure <= int(last), "no such measure");
  return RankMeasure(measure);
}

std::pair<double, double> pair_gradients_py(int measure, In<double> gain, In<double> raw, Weight weight, In<int64_t> begin, In<double> unit,
                                            int64_t truncation, double steepness, bool normalize, Out<double> gradient, Out<double> hessian,
                                            int n_threads) {
  const RankedRows rows = as_queries(gain, raw, weight, begin, unit);
  require(gradient.size() == gain.size() && hessian.size() == gain.size(), "gradient and hessian must have one value for each row");
  require(truncation >= 1 && steepness > 0, "truncation and steepness must be positive");
  const PairRule rule{as_measure(measure, RankMeasure::kPairwise), truncation, steepness, normalize};
  const Extent extent = pair_gradients(rows, rule, n_threads, gradient.data(), hessian.data());
  return {extent.gradient, extent.hessian};
}

std::pair<double, double> listwise_gradients_py(In<double> gain, In<double> raw, Weight weight, In<int64_t> begin, In<double> unit,
                                                Out<double> gradient, Out<double> hessian, int n_threads) {
  const RankedRows rows = as_queries(gain, raw, weight, begin, unit);
  require(gradient.size() == gain.size() && hessian.size() == gain.size(), "gradient and hessian must have one value for each row");
  const Extent extent = listwise_gradients(rows, n_threads, gradient.data(), hessian.data());
  return {extent.gradient, extent.hessian};
}

// Bins some columns of a table into a page (see Page), which must be zero where it is not written.
void bin_table(AnyTable x, int first_feature, In<double> cuts, In<int64_t> cuts_begin, Bytes page, int64_t page_rows, int64_t first_row,
               int width, int stride, Out<uint8_t> missing, int n_threads) {
  const Table table = as_table(x);
  const int n = table.n_columns, n_features = int(missing.size());
  require(width > 0 && stride >= width && first_feature >= 0 && first_feature + n <= n_features, "features out of range");
  check_cuts(cuts, cuts_begin, n_features);
  const int64_t n_groups = (n_features + width - 1) / width;
  require(page_rows >= 0 && page_rows < int64_t(1) << 32 && first_row >= 0 && first_row <= page_rows - table.n_rows &&
              int64_t(page.size()) / stride / n_groups >= page_rows,
          "page too small");
  std::mutex joining;
  over_rows(
      table.n_rows, n_threads,
      [&](int64_t begin, int64_t end) {
        std::vector<uint8_t> seen(n_features);
        for (int f = first_feature; f < first_feature + n;) {
          const int group = f / width, last = std::min(first_feature + n, (group + 1) * width);
          with_number(table.type, [&](auto zero) {
            using T = decltype(zero);
            auto* at = static_cast<const T*>(table.data) + begin * table.row_stride + (f - first_feature) * table.column_stride;
            bin_values_of<T>(at, table.row_stride, table.column_stride, end - begin, last - f, Cuts{cuts.data(), cuts_begin.data() + f},
                             page.data() + (group * page_rows + first_row + begin) * stride + f % width, stride, 1, seen.data() + f);
          });
          f = last;
        }
        std::lock_guard<std::mutex> guard(joining);
        for (int f = 0; f < n_features; ++f) missing.data()[f] |= seen[f];
      },
      block_of(n));
}

// Cut points of each column of a table, from all rows or the given ones.
nb::list find_cuts_py(AnyTable x, std::optional<In<uint32_t>> rows, Weight weight, int max_bins, int n_threads) {
  const Table table = as_table(x);
  require(max_bins >= 2, "max_bins must be at least 2");
  const int64_t n = rows ? int64_t(rows->size()) : table.n_rows;
  if (rows) {
    for (int64_t i = 0; i < n; ++i) require(rows->data()[i] < table.n_rows, "row out of range");
  }
  require(!weight || int64_t(weight->size()) == table.n_rows, "weight must have one value for each row");
  std::vector<std::vector<double>> cuts;
  {
    nb::gil_scoped_release release;
    cuts = find_cuts(table, rows ? rows->data() : nullptr, n, weight ? weight->data() : nullptr, max_bins, n_threads);
  }
  nb::list result;
  for (auto& c : cuts) result.append(to_numpy<double>(c));
  return result;
}

// Joins what f(begin, end, list) appends to the lists of blocks of rows.
template <class T, class F>
std::vector<T> list_rows(int64_t n, int n_threads, F&& f) {
  std::vector<std::vector<T>> lists(size_t((n + kRowBlock - 1) / kRowBlock));
  over_rows(n, n_threads, [&](int64_t begin, int64_t end) { f(begin, end, lists[begin / kRowBlock]); });
  std::vector<int64_t> at(1, 0);
  for (const auto& list : lists) at.push_back(at.back() + int64_t(list.size()));
  std::vector<T> all(size_t(at.back()));
  over_rows(n, n_threads, [&](int64_t begin, int64_t) {
    const auto& list = lists[begin / kRowBlock];
    std::copy(list.begin(), list.end(), all.begin() + at[begin / kRowBlock]);
  });
  return all;
}

// Rows whose hash is below a share of all.
std::vector<int64_t> sample_rows(int64_t n, int64_t first_row, double share, uint64_t key, int n_threads) {
  const uint64_t limit = uint64_t(share * 4294967296.0);
  return list_rows<int64_t>(n, n_threads, [&](int64_t begin, int64_t end, std::vector<int64_t>& list) {
    list.resize(size_t(end - begin));
    size_t count = 0;
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t row = uint64_t(first_row + i);
      list[count] = i;
      count += hash_row(row_key(key, row), uint32_t(row)) < limit;
    }
    list.resize(count);
  });
}

// Draws rows and scales their records: see Sampling. Returns the rows, and the sums of what was drawn.
auto sample_records(Bytes records, int sampling, double a, double b, uint64_t key, int n_threads) {
  const int64_t n = int64_t(records.size()) / int64_t(sizeof(Pair));
  std::mutex adding;
  RecordSums sums;
  auto rows = list_rows<int64_t>(n, n_threads, [&](int64_t begin, int64_t end, std::vector<int64_t>& list) {
    list.reserve(size_t(end - begin));
    const auto part =
        sample_pairs(Sampling(sampling), a, b, key, begin, reinterpret_cast<Pair*>(records.data()) + begin, end - begin, list);
    std::lock_guard<std::mutex> guard(adding);
    sums.abs_gradient += part.abs_gradient, sums.gradient += part.gradient, sums.hessian += part.hessian;
  });
  return std::pair(std::move(rows), std::tuple(sums.abs_gradient, sums.gradient, sums.hessian));
}

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

// The usual case: feature f in column f.
Places plain_places(const In<int32_t>& missing_bin) {
  Places places;
  places.of.resize(missing_bin.size());
  places.n_codes.assign(missing_bin.size(), 256);
  for (size_t f = 0; f < places.of.size(); ++f) {
    places.of[f].column = int(f);
    places.of[f].n_stored = 256;
    places.members.push_back(uint32_t(f));
  }
  return places;
}

using Lists = std::pair<In<uint32_t>, In<uint32_t>>;  // begin, (n_rows + 1,), and what lies beside the rows

void check_lists(const Places& places, const Lists& lists, int64_t n_rows) {
  const auto& [begin, beside] = lists;
  require(int64_t(begin.size()) == n_rows + 1 && begin.data()[0] == 0 && begin.data()[n_rows] == beside.size(), "lists do not fit");
  for (int64_t i = 0; i < n_rows; ++i) require(begin.data()[i] <= begin.data()[i + 1], "lists do not fit");
  int bad = 0;
  for (size_t i = 0; i < beside.size(); ++i) bad |= int64_t(beside.data()[i]) >= places.n_beside;
  require(!bad, "a bin beside the rows is out of range");
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

// Which features are categories, and the sets of levels that nodes send left: a node on such a feature has the number of its set as bin.
struct Categories {
  const uint8_t* kinds = nullptr;
  const LevelSet* sets = nullptr;
  int64_t n_sets = 0;

  Categories(const std::optional<In<uint8_t>>& kinds_, const std::optional<In2<uint32_t>>& sets_, int n_features) {
    require(!kinds_ || int(kinds_->size()) == n_features, "kinds must have one entry for each feature");
    require(!sets_ || sets_->shape(1) == 8, "sets must be (n_sets, 8)");
    static_assert(sizeof(LevelSet) == 8 * sizeof(uint32_t));
    if (kinds_) kinds = kinds_->data();
    if (sets_) sets = reinterpret_cast<const LevelSet*>(sets_->data()), n_sets = int64_t(sets_->shape(0));
  }
  // Of a node on a feature; null for a number.
  const LevelSet* levels(int feature, int64_t set) const {
    if (!kinds || !kinds[feature]) return nullptr;
    require(set >= 0 && set < n_sets, "no such set of levels");
    return sets + set;
  }
};

// Walks one tree over a binned page and adds the leaf values, one or one for each output, to raw.
void add_tree(In<uint8_t> page, int64_t n_rows, int width, int stride, In<int32_t> missing_bin, In<int32_t> feature, In<int32_t> bin,
              In<int32_t> left, In<int32_t> right, In<uint8_t> missing_left, Flat<double> value, nb::ndarray<double, nb::device::cpu> raw,
              int n_threads, const Places* given, std::optional<Lists> lists, std::optional<In<uint8_t>> kinds,
              std::optional<In2<uint32_t>> sets) {
  const Planes to = as_planes(raw);
  const int64_t n_nodes = int64_t(feature.size());
  const int n_features = int(missing_bin.size());
  const Categories categories(kinds, sets, n_features);
  require(n_nodes > 0 && int64_t(bin.size()) == n_nodes && int64_t(left.size()) == n_nodes && int64_t(right.size()) == n_nodes &&
              int64_t(missing_left.size()) == n_nodes && int64_t(value.size()) == n_nodes * to.n_outputs,
          "node arrays must have the same length");
  const Places plain = given ? Places{} : plain_places(missing_bin);
  const Places& places = given ? *given : plain;
  require(int(places.of.size()) == n_features, "places do not fit");
  require(width > 0 && stride >= width && to.n == n_rows &&
              int64_t(page.size()) >= int64_t((places.n_columns() + width - 1) / width) * n_rows * stride,
          "page and raw do not fit");
  require(places.n_beside == 0 || lists, "what lies beside the rows is not given");
  if (lists) check_lists(places, *lists, n_rows);
  std::vector<Sides> sides(n_nodes);
  for (int64_t i = 0; i < n_nodes; ++i) {
    const int32_t f = feature.data()[i], l = left.data()[i], r = right.data()[i];
    require(f < n_features && (f < 0 || (l > i && l < n_nodes && r > i && r < n_nodes)), "node out of range");
    if (f < 0) continue;
    const int missing = missing_bin.data()[f];
    require(missing >= 0 && missing <= 255, "missing_bin out of range");
    const LevelSet* levels = categories.levels(f, bin.data()[i]);
    sides[i].fill(places.of[f], missing + 1,
                  [&](int b) { return b == missing ? missing_left.data()[i] : uint8_t(levels ? levels->has(b) : b <= bin.data()[i]); });
  }
  over_rows(n_rows, n_threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int32_t i = 0;
      for (int32_t f; (f = feature.data()[i]) >= 0;) {
        const Place& place = places.of[f];
        bool goes_left;
        if (place.column == kBeside) {
          const auto& [first, beside] = *lists;
          goes_left = side_beside(place, sides[i], beside.data() + first.data()[row], beside.data() + first.data()[row + 1]);
        } else {
          goes_left = sides[i].left[page.data()[(int64_t(place.column / width) * n_rows + row) * stride + place.column % width]];
        }
        i = goes_left ? left.data()[i] : right.data()[i];
      }
      const double* values = value.data() + i * to.n_outputs;
      for (int64_t k = 0; k < to.n_outputs; ++k) to.data[k * to.stride + row] += values[k];
    }
  });
}

// A growing tree, and the arrays that must live as long as it does.
template <class Tree>
struct Owned {
  std::vector<Bytes> pages;
  std::vector<Lists> lists;
  std::vector<In2<uint32_t>> columns;
  Bytes records;
  std::unique_ptr<Tree> workspace;
};
using OwnedWorkspace = Owned<Workspace>;
using OwnedSorted = Owned<SortedTree>;

Layout make_layout(const In<int32_t>& n_bins, const In<uint8_t>& missing, const In<int32_t>& missing_bin, int width, int stride,
                   const Places* places) {
  Layout layout;
  layout.n_features = int(n_bins.size());
  require(layout.n_features > 0 && width > 0 && width <= 64 && stride >= (width + 3) / 4 * 4, "width and stride do not fit");
  require(missing.size() == n_bins.size() && missing_bin.size() == n_bins.size(), "one entry for each feature");
  layout.places = places ? *places : plain_places(missing_bin);
  require(int(layout.places.of.size()) == layout.n_features, "places do not fit");
  layout.width = width;
  layout.stride = stride;
  layout.n_groups = (layout.n_columns() + width - 1) / width;
  layout.n_bins.assign(n_bins.data(), n_bins.data() + n_bins.size());
  layout.missing.assign(missing.data(), missing.data() + missing.size());
  layout.missing_bin.assign(missing_bin.data(), missing_bin.data() + missing_bin.size());
  for (int f = 0; f < layout.n_features; ++f) {
    Place& place = layout.places.of[f];
    const int n = layout.n_bins[f];
    require(n >= 1 && n <= 256 && layout.missing_bin[f] >= 0 && layout.missing_bin[f] <= 255 &&
                (!layout.missing[f] || layout.missing_bin[f] == n - 1),
            "a feature has 1 to 256 bins, the missing one last");
    if (place.common == kNoCommon) {
      layout.places.n_codes[place.column] = place.n_stored = n;
    } else {
      require(layout.missing_bin[f] == n - layout.missing[f] && place.n_stored == layout.missing_bin[f], "places do not fit");
    }
  }
  uint32_t unit = 0;
  for (int c = 0; c < layout.n_columns(); ++c) {
    layout.column_begin.push_back(uint32_t(layout.n_cells));
    layout.n_cells += layout.places.n_codes[c];
    layout.member_begin.push_back(unit);
    while (unit < layout.places.members.size() && layout.places.of[layout.places.members[unit]].column == c) ++unit;
  }
  layout.column_begin.push_back(uint32_t(layout.n_cells));
  for (; unit < layout.places.members.size(); ++unit) {
    layout.beside_unit.insert(layout.beside_unit.end(), layout.places.of[layout.places.members[unit]].n_stored,
                              uint32_t(layout.member_begin.size()));
    layout.member_begin.push_back(unit);
  }
  layout.member_begin.push_back(unit);
  layout.n_cells += layout.places.n_beside;
  require(layout.n_cells < int64_t(1) << 31, "too many bins in all");
  // Padding counts into a cell of its own at the end.
  const int padded = layout.padded_width();
  layout.offsets.assign(size_t(layout.n_groups) * padded, uint32_t(layout.n_cells));
  for (int c = 0; c < layout.n_columns(); ++c) layout.offsets[size_t(c / width) * padded + c % width] = layout.column_begin[c];
  return layout;
}

void check_page(const Layout& layout, const Bytes& page, int64_t n_rows) {
  require(n_rows >= 0 && n_rows < int64_t(1) << 32 && int64_t(page.size()) >= int64_t(layout.n_groups) * n_rows * layout.stride,
          "page too small");
  // Every code becomes an index into a histogram.
  for (int group = 0; group < layout.n_groups; ++group) {
    const int first = group * layout.width, last = std::min(layout.n_columns(), first + layout.width);
    const int32_t* n_codes = layout.places.n_codes.data();
    for (int64_t row = 0; row < n_rows; ++row) {
      const uint8_t* codes = page.data() + (int64_t(group) * n_rows + row) * layout.stride;
      int bad = 0;
      for (int c = first; c < last; ++c) bad |= codes[c - first] >= n_codes[c];
      for (int k = last - first; k < layout.padded_width(); ++k) bad |= codes[k] != 0;
      require(!bad, "a page holds a bin that its feature does not have");
    }
  }
}

// What both kinds of workspaces can do: see Workspace.
template <class Tree>
void bind_growing(nb::class_<Owned<Tree>>& type) {
  type.def(
          "start",
          [](Owned<Tree>& self, Bytes records, int mode, int count_bits, int gradient_shift, int hessian_shift, double l2,
             double hessian_unit, double min_hessian, double min_gain, double noise, int64_t min_count, int max_depth, uint64_t key,
             std::optional<In<uint8_t>> allowed, double gradient_unit, std::optional<In<int64_t>> sample) {
            const int64_t n = self.workspace->n_rows();
            require(mode >= 0 && mode <= 2, "mode must be 0, 1 or 2");
            require(records.size() == size_t(n) * (Mode(mode) == Mode::kSingle ? sizeof(Single) : sizeof(Pair)), "records do not fit");
            require(count_bits > 0 && count_bits < 48 && n < int64_t(1) << count_bits, "count_bits too small");
            require(gradient_shift >= 0 && gradient_shift < 31 && hessian_shift >= 0 && hessian_shift < 31, "shift out of range");
            require(!allowed || int(allowed->size()) == self.workspace->n_features(), "allowed must have one entry for each feature");
            for (size_t i = 0; sample && i < sample->size(); ++i) {
              const int64_t row = sample->data()[i];
              require(row >= 0 && row < n && (i == 0 || row > sample->data()[i - 1]), "sample must be rows in ascending order");
            }
            require(!sample || sample->size() > 0, "sample must have a row");
            require(gradient_unit > 0, "gradient_unit must be positive");
            self.records = records;
            const Format format{Mode(mode), count_bits, gradient_shift, hessian_shift};
            const Rules rules{l2, hessian_unit, min_hessian, min_gain, noise, std::max<int64_t>(1, min_count), gradient_unit};
            {
              nb::gil_scoped_release free;
              self.workspace->start(records.data(), format, rules, max_depth, key, allowed ? allowed->data() : nullptr,
                                    sample ? sample->data() : nullptr, sample ? int64_t(sample->size()) : 0);
            }
            return self.workspace->nodes()[0].split.gain;
          },
          "records"_a, "mode"_a, "count_bits"_a, "gradient_shift"_a, "hessian_shift"_a, "l2"_a, "hessian_unit"_a, "min_hessian"_a,
          "min_gain"_a, "noise"_a, "min_count"_a, "max_depth"_a, "key"_a, "allowed"_a.none(), "gradient_unit"_a = 1.0,
          "sample"_a = nb::none())
      .def(
          "constrain",
          [](Owned<Tree>& self, double l1, double max_step, double smooth, double score_noise, bool extra, bool joint, bool neighbours,
             std::optional<In<double>> weights, std::optional<In<int8_t>> monotonic, std::optional<In<uint8_t>> kinds,
             double category_smooth, double category_l2, int64_t min_level_rows) {
            const size_t n = size_t(self.workspace->n_features());
            require(l1 >= 0 && max_step > 0 && smooth >= 0 && score_noise >= 0, "rules must not be negative");
            require((!weights || weights->size() == n) && (!monotonic || monotonic->size() == n), "one entry for each feature");
            require(category_smooth >= 0 && category_l2 >= 0, "rules must not be negative");
            Extras extras{l1, max_step, smooth, score_noise, extra, joint, neighbours, {}, {}, {}, {}};
            extras.categories = {category_smooth, category_l2, min_level_rows};
            require(!kinds || (kinds->size() == n && !std::is_same_v<Tree, SortedTree>), "one kind for each feature, and bins");
            for (size_t f = 0; kinds && f < n; ++f) {
              require(kinds->data()[f] <= 2, "no such kind of feature");
              require(!monotonic || !monotonic->data()[f] || !kinds->data()[f], "a category cannot be monotonic");
              extras.kinds.push_back(Kind(kinds->data()[f]));
            }
            if (weights) extras.weights.assign(weights->data(), weights->data() + n);
            if (monotonic) extras.monotonic.assign(monotonic->data(), monotonic->data() + n);
            self.workspace->constrain(std::move(extras));
          },
          "l1"_a = 0.0, "max_step"_a = Extras::kNoLimit, "smooth"_a = 0.0, "score_noise"_a = 0.0, "extra"_a = false, "joint"_a = false,
          "neighbours"_a = false, "weights"_a = nb::none(), "monotonic"_a = nb::none(), "kinds"_a = nb::none(), "category_smooth"_a = 0.0,
          "category_l2"_a = 0.0, "min_level_rows"_a = 1)
      .def(
          "force",
          [](Owned<Tree>& self, int node, int feature, int bin, bool missing_left) {
            const auto& nodes = self.workspace->nodes();
            require(node >= 0 && size_t(node) < nodes.size() && nodes[node].left < 0, "node cannot be split");
            require(feature >= 0 && feature < self.workspace->n_features() && bin >= 0, "feature or bin out of range");
            nb::gil_scoped_release free;
            return self.workspace->force(node, feature, bin, missing_left);
          },
          "node"_a, "feature"_a, "bin"_a, "missing_left"_a)
      .def(
          "advance",
          [](Owned<Tree>& self, const std::vector<int>& nodes, bool search, std::optional<In2<uint8_t>> allowed) {
            const auto& all = self.workspace->nodes();
            for (size_t i = 0; i < nodes.size(); ++i) {
              const int node = nodes[i];
              require(node >= 0 && size_t(node) < all.size() && all[node].left < 0 && all[node].split.gain > 0, "node cannot be split");
              require(std::find(nodes.begin(), nodes.begin() + i, node) == nodes.begin() + i, "node given twice");
            }
            require(!allowed || (allowed->shape(0) == 2 * nodes.size() && int(allowed->shape(1)) == self.workspace->n_features()),
                    "allowed must have one row for each child");
            int first;
            {
              nb::gil_scoped_release free;
              first = self.workspace->advance(nodes, search, allowed ? allowed->data() : nullptr);
            }
            std::vector<double> gains;
            for (size_t i = first; i < self.workspace->nodes().size(); ++i) gains.push_back(self.workspace->nodes()[i].split.gain);
            return std::pair(first, gains);
          },
          "nodes"_a, "search"_a, "allowed"_a.none())
      .def(
          "finish",
          [](Owned<Tree>& self, const std::vector<int>& leaves, Bytes leaf_of_row, int leaf_size) {
            const int64_t n = self.workspace->n_rows();
            require(leaf_size == 1 || leaf_size == 2 || leaf_size == 4, "leaf_size must be 1, 2 or 4");
            require(leaf_of_row.size() == size_t(n) * leaf_size, "leaf_of_row does not fit");
            require(leaf_size == 4 || leaves.size() <= size_t(1) << (8 * leaf_size), "leaf_size too small");
            for (int leaf : leaves) {
              require(leaf >= 0 && size_t(leaf) < self.workspace->nodes().size() && self.workspace->nodes()[leaf].left < 0, "not a leaf");
            }
            std::vector<Sums> sums(leaves.size());
            {
              nb::gil_scoped_release free;
              self.workspace->finish(leaves, sums.data(), leaf_of_row.data(), leaf_size);
            }
            std::vector<int64_t> g, h, count;
            for (const Sums& s : sums) g.push_back(s.g), h.push_back(s.h), count.push_back(s.count);
            return nb::make_tuple(to_numpy<int64_t>(g), to_numpy<int64_t>(h), to_numpy<int64_t>(count));
          },
          "leaves"_a, "leaf_of_row"_a, "leaf_size"_a)
      .def("nodes",
           [](const Owned<Tree>& self) {
             const std::vector<Node>& nodes = self.workspace->nodes();
             auto column = [&](auto of) {
               using T = decltype(of(nodes[0]));
               auto* values = new T[nodes.size()];
               nb::capsule owner(values, [](void* p) noexcept { delete[] static_cast<T*>(p); });
               for (size_t i = 0; i < nodes.size(); ++i) values[i] = of(nodes[i]);
               return nb::ndarray<nb::numpy, T, nb::ndim<1>>(values, {nodes.size()}, owner);
             };
             nb::dict d;
             d["feature"] = column([](const Node& n) { return n.left >= 0 ? n.split.feature : int32_t(-1); });
             d["bin"] = column([](const Node& n) { return n.left >= 0 ? n.split.bin : int32_t(0); });
             d["left"] = column([](const Node& n) { return n.left; });
             d["right"] = column([](const Node& n) { return n.right; });
             d["missing_left"] = column([](const Node& n) { return uint8_t(n.left >= 0 && n.split.missing_left); });
             d["gain"] = column([](const Node& n) { return n.left >= 0 ? n.split.gain : 0.0; });
             d["depth"] = column([](const Node& n) { return n.depth; });
             d["count"] = column([](const Node& n) { return n.sums.count; });
             d["gradient"] = column([](const Node& n) { return n.sums.g; });  // in histogram units, as is the hessian
             d["hessian"] = column([](const Node& n) { return n.sums.h; });
             d["lower"] = column([](const Node& n) { return n.limits.lower; });
             d["upper"] = column([](const Node& n) { return n.limits.upper; });
             d["step"] = column([](const Node& n) { return n.limits.value; });  // its value before the learning rate, where rules shape it
             d["by_levels"] = column([](const Node& n) { return uint8_t(n.left >= 0 && n.split.by_levels); });
             d["anchor"] = column([](const Node& n) { return n.limits.anchor; });  // the parent's value
             return d;
           })
      .def("sets",  // (n, 8): the levels that go left, of the nodes that are split by levels
           [](const Owned<Tree>& self) {
             std::vector<uint32_t> bits;
             for (const Node& n : self.workspace->nodes()) {
               if (n.left >= 0 && n.split.by_levels)
                 bits.insert(bits.end(), std::begin(n.split.levels.bits), std::end(n.split.levels.bits));
             }
             return nb::cast(to_numpy<uint32_t>(bits)).attr("reshape")(-1, 8);
           })
      .def(
          "limit",
          [](Owned<Tree>& self, int node, double lower, double upper) {
            require(node >= 0 && size_t(node) < self.workspace->nodes().size() && lower <= upper, "no such node, or no such limits");
            self.workspace->set_limits(node, lower, upper);
          },
          "node"_a, "lower"_a, "upper"_a)
      .def(
          "search_again",
          [](Owned<Tree>& self, int node, std::optional<In<uint8_t>> allowed) {
            const auto& nodes = self.workspace->nodes();
            require(node >= 0 && size_t(node) < nodes.size() && nodes[node].left < 0, "not a leaf");
            require(!allowed || int(allowed->size()) == self.workspace->n_features(), "allowed must have one entry for each feature");
            {
              nb::gil_scoped_release free;
              self.workspace->search_again(node, allowed ? allowed->data() : nullptr);
            }
            return self.workspace->nodes()[node].split.gain;
          },
          "node"_a, "allowed"_a.none())
      .def(
          "split_features",
          [](const Owned<Tree>& self, const std::vector<int>& nodes) {
            std::vector<int> features;
            for (int node : nodes) {
              require(node >= 0 && size_t(node) < self.workspace->nodes().size(), "no such node");
              features.push_back(self.workspace->nodes()[node].split.feature);
            }
            return features;
          },
          "nodes"_a);
}

}  // namespace

NB_MODULE(SAPWOOD_MODULE, m) {
  m.doc() = "Loops over rows, bins and nodes.";
  nb::set_leak_warnings(false);  // a model may well live until the interpreter ends
  m.attr("BLOCK_ROWS") = kBlockRows;
  m.attr("MAX_GRADIENT") = kMaxGradient;
  m.attr("MAX_HESSIAN") = kMaxHessian;
  m.attr("GRADIENT_SHIFT") = kGradientShift;
  m.attr("HESSIAN_SHIFT") = kHessianShift;
  m.def("supports_avx2", [] {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("fma");
#else
    return false;
#endif
  });

  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("loss_extent", &loss_extent_py, "kind"_a, "y"_a, "raw"_a, "weight"_a.none(), "n_threads"_a, "parameter"_a = 0.0, release);
  m.def("array_extent", &array_extent, "gradients"_a, "hessians"_a, "n_threads"_a, release);
  m.def("loss_gradients", &loss_gradients_py, "kind"_a, "y"_a, "raw"_a, "weight"_a.none(), "gradients"_a, "hessians"_a, "n_threads"_a,
        "parameter"_a = 0.0, release);
  m.def("loss_records", &loss_records_py, "kind"_a, "y"_a, "raw"_a, "weight"_a.none(), "gradient_scale"_a, "hessian_scale"_a, "out"_a,
        "n_threads"_a, "parameter"_a = 0.0, release);
  m.def("array_records", &array_records, "gradients"_a, "hessians"_a.none(), "gradient_scale"_a, "hessian_scale"_a, "out"_a, "n_threads"_a,
        release);
  m.def("loss_values", &loss_values_py, "kind"_a, "y"_a, "raw"_a, "weight"_a.none(), "out"_a, "n_threads"_a, "parameter"_a = 0.0, release);
  m.def("softmax_records", &softmax_records_py, "y"_a, "raw"_a, "weight"_a.none(), "gradient_scale"_a, "hessian_scale"_a, "out"_a,
        "first"_a, "last"_a, "n_threads"_a, release);
  m.def("softmax_values", &softmax_values_py, "y"_a, "raw"_a, "weight"_a.none(), "out"_a, "n_threads"_a, release);
  m.def("apply_link", &apply_link, "link"_a, "raw"_a, "n_threads"_a, release);
  m.def("add_leaf_values", &add_leaf_values_py, "leaves"_a, "leaf_size"_a, "values"_a, "raw"_a, "n_threads"_a, release);
  m.def("project_records", &project_records_py, "planes"_a, "gradient_weights"_a, "hessian_weights"_a, "gradient"_a, "hessian"_a.none(),
        "n_threads"_a, release);
  m.def("leaf_sums", &leaf_sums, "planes"_a, "leaves"_a, "leaf_size"_a, "gradient"_a, "hessian"_a, "n_threads"_a, release);
  m.def(
      "exact_sum", [](In<double> x, int n_threads) { return exact_sum(x.data(), int64_t(x.size()), n_threads); }, "x"_a, "n_threads"_a = 1,
      release);
  m.def(
      "leaf_quantiles",
      [](In<uint32_t> leaf_of_row, In<double> y, In<double> raw, Weight weight, double quantile, Out<double> out, int n_threads) {
        const Rows rows = as_rows(y, raw, weight);
        require(int64_t(leaf_of_row.size()) == rows.n, "leaf_of_row and y must have the same length");
        for (int64_t i = 0; i < rows.n; ++i) require(leaf_of_row.data()[i] < out.size(), "leaf out of range");
        leaf_quantiles(leaf_of_row.data(), rows.n, int64_t(out.size()), rows.y, rows.raw, rows.weight, quantile, n_threads, out.data());
      },
      "leaf_of_row"_a, "y"_a, "raw"_a, "weight"_a.none(), "quantile"_a, "out"_a, "n_threads"_a, release);
  m.def(
      "leaf_huber",
      [](In<uint32_t> leaf_of_row, In<double> y, In<double> raw, Weight weight, double delta, Out<double> out, int n_threads) {
        const Rows rows = as_rows(y, raw, weight);
        require(delta > 0 && std::isfinite(delta), "delta must be positive");
        require(int64_t(leaf_of_row.size()) == rows.n, "leaf_of_row and y must have the same length");
        for (int64_t i = 0; i < rows.n; ++i) require(leaf_of_row.data()[i] < out.size(), "leaf out of range");
        leaf_huber(leaf_of_row.data(), rows.n, int64_t(out.size()), rows.y, rows.raw, rows.weight, delta, n_threads, out.data());
      },
      "leaf_of_row"_a, "y"_a, "raw"_a, "weight"_a.none(), "delta"_a, "out"_a, "n_threads"_a, release);
  m.def("pair_gradients", &pair_gradients_py, "measure"_a, "gain"_a, "raw"_a, "weight"_a.none(), "begin"_a, "unit"_a, "truncation"_a,
        "steepness"_a, "normalize"_a, "gradient"_a, "hessian"_a, "n_threads"_a, release);
  m.def("listwise_gradients", &listwise_gradients_py, "gain"_a, "raw"_a, "weight"_a.none(), "begin"_a, "unit"_a, "gradient"_a, "hessian"_a,
        "n_threads"_a, release);
  m.def(
      "pair_values",
      [](In<double> gain, In<double> raw, In<int64_t> begin, In<double> unit, double steepness, Out<double> out, int n_threads) {
        require(out.size() == unit.size(), "out must have one value for each query");
        pair_values(as_queries(gain, raw, {}, begin, unit), steepness, n_threads, out.data());
      },
      "gain"_a, "raw"_a, "begin"_a, "unit"_a, "steepness"_a, "out"_a, "n_threads"_a, release);
  m.def(
      "listwise_values",
      [](In<double> gain, In<double> raw, In<int64_t> begin, In<double> unit, Out<double> out, int n_threads) {
        require(out.size() == unit.size(), "out must have one value for each query");
        listwise_values(as_queries(gain, raw, {}, begin, unit), n_threads, out.data());
      },
      "gain"_a, "raw"_a, "begin"_a, "unit"_a, "out"_a, "n_threads"_a, release);
  m.def(
      "rank_values",
      [](int measure, In<double> gain, In<double> raw, In<int64_t> begin, int64_t last_rank, Out<double> out, int n_threads) {
        require(last_rank >= 1, "last_rank must be positive");
        // No unit is asked for: `out` has the right number of values.
        const RankedRows rows = as_queries(gain, raw, {}, begin, In<double>(out));
        rank_values(rows, as_measure(measure, RankMeasure::kMrr), last_rank, n_threads, out.data());
      },
      "measure"_a, "gain"_a, "raw"_a, "begin"_a, "last_rank"_a, "out"_a, "n_threads"_a, release);
  m.def("find_cuts", &find_cuts_py, "x"_a, "rows"_a.none(), "weight"_a.none(), "max_bins"_a, "n_threads"_a);
  m.def(
      "sample_rows",
      [](int64_t n, int64_t first_row, double share, uint64_t key, int n_threads) {
        require(n >= 0 && n < int64_t(1) << 32 && share >= 0 && share <= 1, "n or share out of range");
        std::vector<int64_t> rows;
        {
          nb::gil_scoped_release free;
          rows = sample_rows(n, first_row, share, key, n_threads);
        }
        return to_numpy<int64_t>(std::move(rows));
      },
      "n"_a, "first_row"_a, "share"_a, "key"_a, "n_threads"_a = 1);
  m.def(
      "sample_records",
      [](Bytes records, int sampling, double a, double b, uint64_t key, int n_threads) {
        require(sampling >= 0 && sampling <= int(Sampling::kBayesian), "no such sampling");
        require(records.size() % sizeof(Pair) == 0, "records must have 8 bytes for each row");
        require(a >= 0 && b > 0, "a and b must be positive");
        std::pair<std::vector<int64_t>, std::tuple<int64_t, int64_t, int64_t>> drawn;
        {
          nb::gil_scoped_release free;
          drawn = sample_records(records, sampling, a, b, key, n_threads);
        }
        return std::pair(to_numpy<int64_t>(std::move(drawn.first)), drawn.second);
      },
      "records"_a, "sampling"_a, "a"_a, "b"_a, "key"_a, "n_threads"_a);
  m.def("bin_table", &bin_table, "x"_a, "first_feature"_a, "cuts"_a, "cuts_begin"_a, "page"_a, "page_rows"_a, "first_row"_a, "width"_a,
        "stride"_a, "missing"_a, "n_threads"_a, release);
  m.def("add_tree", &add_tree, "page"_a, "n_rows"_a, "width"_a, "stride"_a, "missing_bin"_a, "feature"_a, "bin"_a, "left"_a, "right"_a,
        "missing_left"_a, "value"_a, "raw"_a, "n_threads"_a, "places"_a = nb::none(), "lists"_a = nb::none(), "kinds"_a = nb::none(),
        "sets"_a = nb::none(), release);
  m.def("hash_bytes", [](In<uint8_t> data) { return hash_bytes(data.data(), int64_t(data.size())); }, "data"_a, release);
  m.def(
      "find_fault",
      [](In<int64_t> begin, In<int32_t> feature, In<double> threshold, In<int32_t> bin, In<int32_t> left, In<int32_t> right,
         In<uint8_t> missing_left, Flat<double> value, In<double> gain, In<int64_t> count, In<uint8_t> kinds, In<int64_t> cuts_begin,
         int64_t n_sets) -> std::optional<std::string> {
        const size_t n = feature.size();
        require(threshold.size() == n && bin.size() == n && left.size() == n && right.size() == n && missing_left.size() == n &&
                    gain.size() == n && count.size() == n && (n ? value.size() % n == 0 : value.size() == 0),
                "node arrays must have the same length");
        require(cuts_begin.size() == kinds.size() + 1, "cuts do not fit");
        require(begin.size() >= 1 && begin.data()[0] == 0 && begin.data()[begin.size() - 1] == int64_t(n), "trees must cover the nodes");
        for (size_t t = 0; t + 1 < begin.size(); ++t) require(begin.data()[t] <= begin.data()[t + 1], "trees must be in order");
        const StoredNodes nodes{begin.data(),          int64_t(begin.size()) - 1,
                                feature.data(),        bin.data(),
                                left.data(),           right.data(),
                                threshold.data(),      value.data(),
                                gain.data(),           count.data(),
                                missing_left.data(),   n ? int64_t(value.size() / n) : 0,
                                kinds.data(),          cuts_begin.data(),
                                int64_t(kinds.size()), n_sets};
        const char* fault = find_fault(nodes);
        return fault ? std::optional<std::string>(fault) : std::nullopt;
      },
      "begin"_a, "feature"_a, "threshold"_a, "bin"_a, "left"_a, "right"_a, "missing_left"_a, "value"_a, "gain"_a, "count"_a, "kinds"_a,
      "cuts_begin"_a, "n_sets"_a);
  m.def(
      "hash_columns",
      [](AnyTable x, int64_t first_row, Out<uint64_t> sums, int n_threads) {
        const Table table = as_table(x);
        require(int64_t(sums.size()) == table.n_columns && first_row >= 0, "sums must have one number for each column");
        std::mutex joining;
        over_rows(
            table.n_rows, n_threads,
            [&](int64_t begin, int64_t end) {
              std::vector<uint64_t> own(table.n_columns);
              with_number(table.type, [&](auto zero) {
                hash_columns(static_cast<const decltype(zero)*>(table.data), table.row_stride, table.column_stride, begin, end,
                             table.n_columns, first_row, own.data());
              });
              std::lock_guard<std::mutex> guard(joining);
              for (int f = 0; f < table.n_columns; ++f) sums.data()[f] += own[f];
            },
            block_of(table.n_columns));
      },
      "x"_a, "first_row"_a, "sums"_a, "n_threads"_a, release);
  m.def(
      "hash_rows",
      [](int64_t n, uint64_t key) {
        std::vector<uint32_t> out(n);
        for (int64_t i = 0; i < n; ++i) out[i] = hash_row(row_key(key, uint64_t(i)), uint32_t(i));
        return to_numpy<uint32_t>(out);
      },
      "n"_a, "key"_a);

  m.def(
      "sum_before",
      [](In<uint32_t> order, In<uint32_t> keys, In<int64_t> targets, std::optional<In<int64_t>> weights,
         std::optional<Out2<int64_t>> before, Out2<int64_t> totals) {
        const size_t n = order.size();
        require(keys.size() == n && targets.size() == n && (!weights || weights->size() == n), "one entry for each row");
        require((!before || (before->shape(0) == n && before->shape(1) == 2)) && totals.shape(1) == 2, "sums come in pairs");
        for (size_t i = 0; i < n; ++i) require(order.data()[i] < n && keys.data()[i] < totals.shape(0), "a row or key is out of range");
        sum_before(order.data(), keys.data(), targets.data(), weights ? weights->data() : nullptr, int64_t(n),
                   before ? before->data() : nullptr, totals.data());
      },
      "order"_a, "keys"_a, "targets"_a, "weights"_a.none(), "before"_a.none(), "totals"_a, release);

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
        return std::pair(to_numpy<uint32_t>(lists.first), to_numpy<uint32_t>(lists.second));
      },
      "bins"_a, "places"_a, "page"_a, "page_rows"_a, "first_row"_a, "width"_a, "stride"_a, "clashes"_a, "n_threads"_a);

  nb::class_<OwnedLines>(m, "Lines")
      .def(nb::init<nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>, In<int32_t>, In<int64_t>, int64_t, bool, int>(),
           "values"_a, "across"_a, "begin"_a, "n_across"_a, "absent_missing"_a, "n_threads"_a)
      .def(
          "find_cuts",
          [](const OwnedLines& self, Weight weight, In<int32_t> max_bins, int n_threads) {
            require(!weight || int64_t(weight->size()) == self.lines.n_across, "weight must have one value for each row");
            require(int64_t(max_bins.size()) == self.lines.n_lines, "one max_bins for each column");
            for (size_t f = 0; f < max_bins.size(); ++f) require(max_bins.data()[f] >= 2, "max_bins must be at least 2");
            std::vector<std::vector<double>> cuts;
            {
              nb::gil_scoped_release free;
              cuts = find_cuts(self.lines, weight ? weight->data() : nullptr, max_bins.data(), n_threads);
            }
            nb::list result;
            for (auto& c : cuts) result.append(give_numpy(std::move(c)));
            return result;
          },
          "weight"_a.none(), "max_bins"_a, "n_threads"_a)
      .def(
          "store",
          [](const OwnedLines& self, In<double> cuts, In<int64_t> cuts_begin, const Places& places, Bytes page, int width, int stride,
             Out<uint8_t> missing, Out<uint8_t> clashes, int n_threads) {
            const int64_t n_features = self.lines.n_across, n_rows = self.lines.n_lines;
            check_cuts(cuts, cuts_begin, n_features);
            require(
                int64_t(places.of.size()) == n_features && int64_t(missing.size()) == n_features && int64_t(clashes.size()) == n_features,
                "features do not fit");
            const int64_t n_groups = width > 0 ? (places.n_columns() + width - 1) / width : 0;
            require(width > 0 && stride >= width && n_rows < int64_t(1) << 32 && int64_t(page.size()) >= n_groups * n_rows * stride,
                    "page too small");
            require(self.values.size() < size_t(1) << 32, "too many entries");
            for (int64_t f = 0; f < n_features; ++f) {
              const Place& place = places.of[f];
              const int n_cuts = int(cuts_begin.data()[f + 1] - cuts_begin.data()[f]);
              const int absent = bin_of(cuts.data() + cuts_begin.data()[f], n_cuts, self.lines.absent());
              require(place.common == kNoCommon || (place.common == absent && place.n_stored == n_cuts + 1),
                      "the common bin must be that of what is not there");
            }
            std::pair<std::vector<uint32_t>, std::vector<uint32_t>> lists;
            {
              nb::gil_scoped_release free;
              lists = store_sparse(self.lines, Cuts{cuts.data(), cuts_begin.data()}, places, {page.data(), n_rows, width, stride},
                                   missing.data(), clashes.data(), n_threads);
            }
            return std::pair(give_numpy(std::move(lists.first)), give_numpy(std::move(lists.second)));
          },
          "cuts"_a, "cuts_begin"_a, "places"_a, "page"_a, "width"_a, "stride"_a, "missing"_a, "clashes"_a, "n_threads"_a)
      .def(
          "share_columns",
          [](const OwnedLines& self, In<int32_t> order, In<int32_t> n_codes, int max_codes, int n_open) {
            require(int64_t(n_codes.size()) == self.lines.n_lines && n_open > 0, "one number of codes for each feature");
            for (size_t i = 0; i < order.size(); ++i)
              require(order.data()[i] >= 0 && order.data()[i] < self.lines.n_lines, "no such feature");
            std::vector<int32_t> shared(self.lines.n_lines, -1);
            {
              nb::gil_scoped_release free;
              share_columns(self.lines, order.data(), int64_t(order.size()), n_codes.data(), max_codes, n_open, shared.data());
            }
            return give_numpy(std::move(shared));
          },
          "order"_a, "n_codes"_a, "max_codes"_a, "n_open"_a)
      .def(
          "fill_dense",
          [](const OwnedLines& self, int64_t first_line, int first, int last, Out2<double> out, int n_threads) {
            const int64_t n = int64_t(out.shape(0));
            require(first_line >= 0 && n <= self.lines.n_lines - first_line && 0 <= first && first <= last && last <= self.lines.n_across &&
                        int64_t(out.shape(1)) == last - first,
                    "out does not fit");
            fill_dense(self.lines, first_line, n, first, last, out.data(), n_threads);
          },
          "first_line"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, release);
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
        return std::pair(give_numpy(std::move(lists.first)), give_numpy(std::move(lists.second)));
      },
      "begin"_a, "beside"_a, "rows"_a, "n_threads"_a);

  nb::class_<OwnedWorkspace> workspace(m, "Workspace");
  bind_growing(workspace);
  workspace
      .def(
          "__init__",
          [](OwnedWorkspace* self, In<int32_t> n_bins, In<uint8_t> missing, In<int32_t> missing_bin, int width, int stride,
             std::vector<Bytes> pages, std::vector<int64_t> page_rows, int n_threads, int64_t max_histogram_bytes, const Places* places,
             std::vector<Lists> lists) {
            Layout layout = make_layout(n_bins, missing, missing_bin, width, stride, places);
            require(pages.size() == page_rows.size() && !pages.empty(), "one number of rows for each page");
            require(lists.size() == (layout.any_beside() ? pages.size() : 0), "one pair of lists for each page, if any");
            std::vector<Page> list;
            int64_t start = 0;
            for (size_t i = 0; i < pages.size(); ++i) {
              check_page(layout, pages[i], page_rows[i]);
              if (!lists.empty()) check_lists(layout.places, lists[i], page_rows[i]);
              const bool any = !lists.empty();
              list.push_back(
                  {pages[i].data(), page_rows[i], start, any ? lists[i].first.data() : nullptr, any ? lists[i].second.data() : nullptr});
              start += page_rows[i];
            }
            new (self) OwnedWorkspace();
            self->pages = std::move(pages);
            self->lists = std::move(lists);
            self->workspace = std::make_unique<Workspace>(std::move(layout), std::move(list), n_threads, max_histogram_bytes);
          },
          "n_bins"_a, "missing"_a, "missing_bin"_a, "width"_a, "stride"_a, "pages"_a, "page_rows"_a, "n_threads"_a, "max_histogram_bytes"_a,
          "places"_a = nb::none(), "lists"_a = std::vector<Lists>{})
      .def(
          "histogram",
          [](const OwnedWorkspace& self, int node) -> nb::object {
            require(node >= 0 && size_t(node) < self.workspace->nodes().size(), "no such node");
            std::vector<int64_t> cells(size_t(self.workspace->layout().n_cells) * 3);
            if (!self.workspace->histogram(node, cells.data())) return nb::none();
            return nb::cast(to_numpy<int64_t>(cells)).attr("reshape")(-1, 3);
          },
          "node"_a);

  m.def(
      "sort_columns",
      [](AnyTable x, int n_threads) {
        const Table table = as_table(x);
        require(table.n_rows < int64_t(1) << 32, "too many rows");
        std::vector<SortedColumn> columns;
        {
          nb::gil_scoped_release free;
          columns = sort_columns(table, n_threads);
        }
        nb::list result;
        for (const SortedColumn& column : columns) {
          auto* copy = new std::vector<Ranked>(column.rows);
          nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<Ranked>*>(p); });
          nb::ndarray<nb::numpy, uint32_t, nb::ndim<2>> rows(copy->data(), {copy->size(), 2}, owner);
          result.append(nb::make_tuple(rows, to_numpy<double>(column.values)));
        }
        return result;
      },
      "x"_a, "n_threads"_a);
  nb::class_<OwnedSorted> sorted(m, "SortedTree");
  bind_growing(sorted);
  sorted.def(
      "__init__",
      [](OwnedSorted* self, std::vector<In2<uint32_t>> columns, std::vector<int64_t> n_values, int n_threads, int proposal,
         int n_quantiles) {
        require(proposal >= 0 && proposal <= 2 && n_quantiles >= 1, "no such proposal");
        require(!columns.empty() && columns.size() == n_values.size(), "one number of values for each column");
        const int64_t n = int64_t(columns[0].shape(0));
        std::vector<const Ranked*> lists;
        std::vector<uint8_t> seen(n);
        for (size_t f = 0; f < columns.size(); ++f) {
          require(int64_t(columns[f].shape(0)) == n && columns[f].shape(1) == 2, "columns must be (n_rows, 2)");
          auto* rows = reinterpret_cast<const Ranked*>(columns[f].data());
          std::fill(seen.begin(), seen.end(), 0);
          for (int64_t i = 0; i < n; ++i) {
            require(int64_t(rows[i].row) < n && !seen[rows[i].row]++, "every row once in each column");
            require(rows[i].rank == kMissingRank || int64_t(rows[i].rank) < n_values[f], "a rank out of range");
            require(i == 0 || rows[i - 1].rank <= rows[i].rank, "columns must be sorted by rank");
          }
          lists.push_back(rows);
        }
        new (self) OwnedSorted();
        self->columns = std::move(columns);
        self->workspace =
            std::make_unique<SortedTree>(std::move(lists), std::move(n_values), n, n_threads, Proposal(proposal), n_quantiles);
      },
      "columns"_a, "n_values"_a, "n_threads"_a, "proposal"_a = 0, "n_quantiles"_a = 1);

  nb::class_<Scorer>(m, "Scorer")
      .def(
          "__init__",
          [](Scorer* self, In<int64_t> begin, In<int32_t> feature, In<double> threshold, In<int32_t> left, In<int32_t> right,
             In<uint8_t> missing_left, Flat<double> value, int n_features, int n_outputs, std::optional<In<int32_t>> n_levels,
             std::optional<In<int32_t>> bin, std::optional<In2<uint32_t>> sets) {
            const size_t n_nodes = feature.size();
            require(!n_levels || (bin && sets && bin->size() == n_nodes && sets->shape(1) == 8 && int(n_levels->size()) == n_features),
                    "levels do not fit");
            for (int f = 0; n_levels && f < n_features; ++f) {
              require(n_levels->data()[f] >= 0 && n_levels->data()[f] <= 255, "a category has up to 255 levels");
            }
            require(begin.size() >= 1 && begin.data()[0] == 0 && begin.data()[begin.size() - 1] == int64_t(n_nodes),
                    "trees must cover the nodes");
            require(threshold.size() == n_nodes && left.size() == n_nodes && right.size() == n_nodes && missing_left.size() == n_nodes,
                    "node arrays must have the same length");
            require(n_features > 0 && n_outputs > 0, "n_features and n_outputs must be positive");
            const bool vectors = value.size() != n_nodes;
            require(!vectors || value.size() == n_nodes * size_t(n_outputs), "a node must have one value, or one for each output");
            for (size_t t = 0; t + 1 < begin.size(); ++t) {
              const int64_t first = begin.data()[t], n = begin.data()[t + 1] - first;
              require(n > 0 && first + n <= int64_t(n_nodes), "a tree has at least one node, and they cover the arrays");
              std::vector<uint8_t> parents(n);
              for (int64_t i = 0; i < n; ++i) {
                const int32_t f = feature.data()[first + i], l = left.data()[first + i], r = right.data()[first + i];
                if (f < 0) continue;
                require(f < n_features && l > i && l < n && r > i && r < n && l != r, "a node is out of range");
                require(!parents[l]++ && !parents[r]++, "a node has two parents");
                require(threshold.data()[first + i] == threshold.data()[first + i], "a threshold is not a number");
                if (!n_levels || !n_levels->data()[f]) continue;
                const int32_t set = bin->data()[first + i];
                require(set >= 0 && size_t(set) < sets->shape(0), "no such set of levels");
              }
              for (int64_t i = 1; i < n; ++i) require(parents[i], "a node has no parent");
            }
            const Trees trees{begin.data(),
                              feature.data(),
                              threshold.data(),
                              left.data(),
                              right.data(),
                              missing_left.data(),
                              value.data(),
                              int64_t(begin.size()) - 1,
                              vectors ? n_outputs : 1,
                              n_levels ? n_levels->data() : nullptr,
                              n_levels ? bin->data() : nullptr,
                              n_levels ? reinterpret_cast<const LevelSet*>(sets->data()) : nullptr};
            new (self) Scorer(trees, n_features, n_outputs);
          },
          "begin"_a, "feature"_a, "threshold"_a, "left"_a, "right"_a, "missing_left"_a, "value"_a, "n_features"_a, "n_outputs"_a,
          "n_levels"_a = nb::none(), "bin"_a = nb::none(), "sets"_a = nb::none())
      .def(
          "add",
          [](const Scorer& self, AnyTable x, int64_t first, int64_t last, Out2<double> out, int n_threads) {
            const Table table = as_table(x);
            require(table.n_columns == self.n_features(), "X has another number of features");
            require(int64_t(out.shape(0)) == table.n_rows && int(out.shape(1)) == self.n_outputs(), "out does not fit");
            require(0 <= first && first <= last && last <= self.n_trees(), "trees out of range");
            require(n_threads > 0, "n_threads must be positive");
            self.add(table, first, last, n_threads, out.data());
          },
          "x"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, release)
      .def(
          "add_sparse",
          [](const Scorer& self, const OwnedLines& rows, int64_t first, int64_t last, Out2<double> out, int n_threads) {
            require(rows.lines.n_across == self.n_features(), "X has another number of features");
            require(int64_t(out.shape(0)) == rows.lines.n_lines && int(out.shape(1)) == self.n_outputs(), "out does not fit");
            require(0 <= first && first <= last && last <= self.n_trees(), "trees out of range");
            require(n_threads > 0, "n_threads must be positive");
            self.add(rows.lines, first, last, n_threads, out.data());
          },
          "rows"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, release)
      .def(
          "leaves",
          [](const Scorer& self, AnyTable x, int64_t first, int64_t last, Out2<int32_t> out, int n_threads) {
            const Table table = as_table(x);
            require(table.n_columns == self.n_features(), "X has another number of features");
            require(0 <= first && first <= last && last <= self.n_trees(), "trees out of range");
            require(n_threads > 0, "n_threads must be positive");
            require(int64_t(out.shape(0)) == table.n_rows && int64_t(out.shape(1)) == last - first, "out does not fit");
            self.leaves(table, first, last, n_threads, out.data());
          },
          "x"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a, release);

  // out: (n_rows, n_outputs * width), width as each of them says.
  using Explain = void (Explainer::*)(const Table&, int64_t, int64_t, int, double*) const;
  auto explain = [](const Explainer& self, const AnyTable& x, int64_t first, int64_t last, const Out2<double>& out, int64_t width,
                    int n_threads) {
    const Table table = as_table(x);
    const Scorer& scorer = self.scorer();
    require(table.n_columns == scorer.n_features(), "X has another number of features");
    require(0 <= first && first <= last && last <= scorer.n_trees(), "trees out of range");
    require(int64_t(out.shape(0)) == table.n_rows && int64_t(out.shape(1)) == scorer.n_outputs() * width, "out does not fit");
    require(n_threads > 0, "n_threads must be positive");
    return table;
  };
  nb::class_<Explainer> explainer(m, "Explainer");
  explainer
      .def(
          "__init__",
          [](Explainer* self, const Scorer& scorer, In<int64_t> count, In<int32_t> player, int n_players) {
            int64_t n_nodes = 0;
            for (int64_t t = 0; t < scorer.n_trees(); ++t) n_nodes += scorer.n_nodes(t);
            require(int64_t(count.size()) == n_nodes, "count must have one number for each node");
            for (int64_t i = 0; i < n_nodes; ++i) require(count.data()[i] >= 0, "counts must not be negative");
            require(int(player.size()) == scorer.n_features() && n_players > 0, "player must have one number for each feature");
            for (size_t i = 0; i < player.size(); ++i)
              require(player.data()[i] >= 0 && player.data()[i] < n_players, "player out of range");
            new (self) Explainer(scorer, count.data(), player.data(), n_players);
          },
          "scorer"_a, "count"_a, "player"_a, "n_players"_a, nb::keep_alive<1, 2>())
      .def(
          "add_against",
          [=](const Explainer& self, AnyTable x, AnyTable background, int64_t first, int64_t last, Out2<double> out, int n_threads) {
            const Table table = explain(self, x, first, last, out, self.n_players() + 1, n_threads), other = as_table(background);
            require(other.n_columns == table.n_columns && other.n_rows > 0, "the background must have rows of the same features");
            nb::gil_scoped_release free;
            self.add_against(table, other, first, last, n_threads, out.data());
          },
          "x"_a, "background"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a);
  auto def_explain = [&](const char* name, Explain add, auto width) {
    explainer.def(
        name,
        [=](const Explainer& self, AnyTable x, int64_t first, int64_t last, Out2<double> out, int n_threads) {
          const Table table = explain(self, x, first, last, out, width(int64_t(self.n_players())), n_threads);
          nb::gil_scoped_release free;
          (self.*add)(table, first, last, n_threads, out.data());
        },
        "x"_a, "first"_a, "last"_a, "out"_a, "n_threads"_a);
  };
  def_explain("add", &Explainer::add, [](int64_t n) { return n + 1; });
  def_explain("add_pairs", &Explainer::add_pairs, [](int64_t n) { return n * n; });
}
