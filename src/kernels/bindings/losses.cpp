// Losses, records, links, and what leaves sum up to.
#include <atomic>
#include <cmath>
#include <mutex>

#include "bindings/bindings.hpp"
#include "loss/quantiles.hpp"
#include "loss/vectors.hpp"

namespace sapwood {
namespace {

AnyLoss as_loss(int kind, double parameter) {
  require(kind >= 0 && kind <= kLastLoss, "no such loss");
  return {LossKind(kind), parameter};
}

constexpr int64_t kLossBlock = 2048;  // rows whose losses are worth a thread

// Calls f(begin, end) -> RecordSums for blocks of rows and adds up the answers.
template <class F>
std::tuple<int64_t, int64_t, int64_t> sum_over_rows(int64_t n, int n_threads, F&& f) {
  std::mutex adding;
  RecordSums sums;
  over_rows(
      n, n_threads,
      [&](int64_t begin, int64_t end) {
        const RecordSums part = f(begin, end);
        std::lock_guard<std::mutex> guard(adding);
        sums.abs_gradient += part.abs_gradient, sums.gradient += part.gradient, sums.hessian += part.hessian;
      },
      kLossBlock);
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

// Where records are written, and what gradients and hessians are multiplied by. The array lives as long as it does.
struct RecordTarget {
  double gradient_scale, hessian_scale;
  nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu> out;

  // The memory of n rows, with 4 or 8 bytes for each.
  std::pair<uint8_t*, int> of_rows(int64_t n) const {
    require(out.ndim() == 1, "out must have one dimension");
    const bool pairs = out.size() == size_t(n) * sizeof(Pair);
    require(pairs || out.size() == size_t(n) * sizeof(Single), "records must have 4 or 8 bytes for each row");
    return {out.data(), pairs ? sizeof(Pair) : sizeof(Single)};
  }
};

int record_size_of(const Bytes& records, int64_t n) {
  const bool pairs = records.size() == size_t(n) * sizeof(Pair);
  require(pairs || records.size() == size_t(n) * sizeof(Single), "records must have 4 or 8 bytes for each row");
  return pairs ? sizeof(Pair) : sizeof(Single);
}

std::tuple<int64_t, int64_t, int64_t> loss_records_py(int kind, In<double> y, In<double> raw, Weight weight, const RecordTarget& target,
                                                      int n_threads, double parameter) {
  const Rows rows = as_rows(y, raw, weight);
  const AnyLoss loss = as_loss(kind, parameter);
  const auto [out, size] = target.of_rows(rows.n);
  return sum_over_rows(rows.n, n_threads, [&, out = out, size = size](int64_t begin, int64_t end) {
    return records_any(loss, part_of(rows, begin, end), target.gradient_scale, target.hessian_scale, size, out + begin * size);
  });
}

std::tuple<int64_t, int64_t, int64_t> array_records(In<double> gradients, Weight hessians, const RecordTarget& target, int n_threads) {
  const int64_t n = int64_t(gradients.size());
  require(!hessians || hessians->size() == gradients.size(), "gradients and hessians must have the same length");
  const auto [out, size] = target.of_rows(n);
  return sum_over_rows(n, n_threads, [&, out = out, size = size](int64_t begin, int64_t end) {
    return records_of(gradients.data() + begin, hessians ? hessians->data() + begin : nullptr, end - begin, target.gradient_scale,
                      target.hessian_scale, size, out + begin * size);
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
std::vector<std::tuple<int64_t, int64_t, int64_t>> softmax_records_py(In<double> y, In2<double> raw, Weight weight,
                                                                      const RecordTarget& target, int64_t first, int64_t last,
                                                                      int n_threads) {
  const int64_t n = int64_t(y.size());
  const int n_classes = int(raw.shape(0));
  require(n_classes > 0, "there must be a class");
  require(int64_t(raw.shape(1)) == n && (!weight || int64_t(weight->size()) == n), "y, raw and weight must have the same length");
  const auto& out = target.out;
  require(out.ndim() == 2 && int64_t(out.shape(0)) == n_classes && int64_t(out.shape(1)) == n * int64_t(sizeof(Pair)),
          "out must be (n_classes, n rows of 8 bytes)");
  require(0 <= first && first <= last && last <= n, "rows out of range");
  std::mutex adding;
  std::vector<RecordSums> sums(n_classes);
  over_rows(last - first, n_threads, [&](int64_t begin, int64_t end) {
    begin += first, end += first;
    std::vector<FourSums> four(n_classes);
    std::vector<double> scratch(4 * n_classes);
    softmax_records(y.data() + begin, raw.data() + begin, weight ? weight->data() + begin : nullptr, end - begin, n, n_classes,
                    target.gradient_scale, target.hessian_scale, reinterpret_cast<Pair*>(out.data()) + begin, four.data(), scratch.data());
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

}  // namespace

void bind_losses(nb::module_& m) {
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<RecordTarget>(m, "RecordTarget", "Memory for fixed-point records, and what gradients and hessians are multiplied by.")
      .def(
          "__init__",
          [](RecordTarget* self, double gradient_scale, double hessian_scale, nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu> out) {
            require(out.ndim() == 1 || out.ndim() == 2, "out must have one dimension, or one row for each class");
            new (self) RecordTarget{gradient_scale, hessian_scale, std::move(out)};
          },
          "gradient_scale"_a, "hessian_scale"_a, "out"_a.noconvert());
  m.def("loss_extent", &loss_extent_py, "kind"_a, "y"_a, "raw"_a, "weight"_a.none(), "n_threads"_a, "parameter"_a = 0.0, release,
        "The largest |gradient| and hessian of a loss.");
  m.def("array_extent", &array_extent, "gradients"_a, "hessians"_a, "n_threads"_a, release, "The largest |gradient| and hessian.");
  m.def("loss_gradients", &loss_gradients_py, "kind"_a, "y"_a, "raw"_a, "weight"_a.none(), "gradients"_a, "hessians"_a, "n_threads"_a,
        "parameter"_a = 0.0, release, "Fill in the gradients and hessians of a loss.");
  m.def("loss_records", &loss_records_py, "kind"_a, "y"_a, "raw"_a, "weight"_a.none(), "target"_a, "n_threads"_a, "parameter"_a = 0.0,
        release, "Write the records of a loss. Returns the sums of |gradient|, gradient and hessian.");
  m.def("array_records", &array_records, "gradients"_a, "hessians"_a.none(), "target"_a, "n_threads"_a, release,
        "Write the records of given gradients. Returns the sums of |gradient|, gradient and hessian.");
  m.def("loss_values", &loss_values_py, "kind"_a, "y"_a, "raw"_a, "weight"_a.none(), "out"_a, "n_threads"_a, "parameter"_a = 0.0, release,
        "Fill in the loss of each row.");
  m.def("softmax_records", &softmax_records_py, "y"_a, "raw"_a, "weight"_a.none(), "target"_a, "first"_a, "last"_a, "n_threads"_a, release,
        "Write the records of all classes for the rows [first, last). Returns the three sums of each class.");
  m.def("softmax_values", &softmax_values_py, "y"_a, "raw"_a, "weight"_a.none(), "out"_a, "n_threads"_a, release,
        "Fill in the log loss of each row.");
  m.def("apply_link", &apply_link, "link"_a, "raw"_a, "n_threads"_a, release, "Replace raw scores, (n_rows, n_outputs), by predictions.");
  m.def("add_leaf_values", &add_leaf_values_py, "leaves"_a, "leaf_size"_a, "values"_a, "raw"_a, "n_threads"_a, release,
        "Add the values of each row's leaf to raw scores.");
  m.def("project_records", &project_records_py, "planes"_a, "gradient_weights"_a, "hessian_weights"_a, "gradient"_a, "hessian"_a.none(),
        "n_threads"_a, release, "Fill in weighted sums of the outputs' records. Returns the largest |gradient| and hessian.");
  m.def("leaf_sums", &leaf_sums, "planes"_a, "leaves"_a, "leaf_size"_a, "gradient"_a, "hessian"_a, "n_threads"_a, release,
        "Fill in the exact sums of each output's gradients and hessians in each leaf.");
  m.def(
      "exact_sum", [](In<double> x, int n_threads) { return exact_sum(x.data(), int64_t(x.size()), n_threads); }, "x"_a, "n_threads"_a = 1,
      release, "The sum, rounded once.");
  m.def(
      "exact_sum_words",
      [](In<double> x, int shift, int n_threads) {
        for (size_t i = 0; i < x.size(); ++i) require(std::fabs(std::ldexp(x.data()[i], shift)) < 0x1p62, "shift too large");
        const __int128 sum = exact_sum(x.data(), int64_t(x.size()), shift, n_threads);
        return std::pair(int64_t(sum >> 32), int64_t(sum & 0xffffffff));
      },
      "x"_a, "shift"_a, "n_threads"_a = 1, release, "The sum of x * 2^shift, as (high, low): high * 2^32 + low.");
  m.def(
      "leaf_quantiles",
      [](In<uint32_t> leaf_of_row, In<double> y, In<double> raw, Weight weight, double quantile, Out<double> out, int n_threads) {
        const Rows rows = as_rows(y, raw, weight);
        require(int64_t(leaf_of_row.size()) == rows.n, "leaf_of_row and y must have the same length");
        for (int64_t i = 0; i < rows.n; ++i) require(leaf_of_row.data()[i] < out.size(), "leaf out of range");
        leaf_quantiles(leaf_of_row.data(), rows.n, int64_t(out.size()), rows.y, rows.raw, rows.weight, quantile, n_threads, out.data());
      },
      "leaf_of_row"_a, "y"_a, "raw"_a, "weight"_a.none(), "quantile"_a, "out"_a, "n_threads"_a, release,
      "Fill in the quantile of y - raw in each leaf.");
  m.def(
      "leaf_huber",
      [](In<uint32_t> leaf_of_row, In<double> y, In<double> raw, Weight weight, double delta, Out<double> out, int n_threads) {
        const Rows rows = as_rows(y, raw, weight);
        require(delta > 0 && std::isfinite(delta), "delta must be positive");
        require(int64_t(leaf_of_row.size()) == rows.n, "leaf_of_row and y must have the same length");
        for (int64_t i = 0; i < rows.n; ++i) require(leaf_of_row.data()[i] < out.size(), "leaf out of range");
        leaf_huber(leaf_of_row.data(), rows.n, int64_t(out.size()), rows.y, rows.raw, rows.weight, delta, n_threads, out.data());
      },
      "leaf_of_row"_a, "y"_a, "raw"_a, "weight"_a.none(), "delta"_a, "out"_a, "n_threads"_a, release,
      "Fill in the shift of each leaf with the least Huber loss.");
}

}  // namespace sapwood
