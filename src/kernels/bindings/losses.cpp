// Losses, fixed-point gradients, links, and sums and values of leaves.
#include <atomic>
#include <cmath>
#include <mutex>

#include "bindings/owned_arguments.hpp"
#include "loss/quantiles.hpp"
#include "loss/vectors.hpp"

namespace sapwood {
namespace {

// Targets, raw predictions and weights of rows; the arrays live as long as it does.
struct OwnedRows {
  In<double> y;
  Flat<double> raw;  // (n_rows,), or (n_outputs, n_rows)
  Weight weight;

  OwnedRows(In<double> y_, Flat<double> raw_, Weight weight_) : y(std::move(y_)), raw(std::move(raw_)), weight(std::move(weight_)) {
    require(raw.ndim() == 1 || raw.ndim() == 2, "raw must be (n_rows,) or (n_outputs, n_rows)");
    require(raw.shape(raw.ndim() - 1) == y.size() && (!weight || weight->size() == y.size()),
            "y, raw and weight must have the same length");
  }
  int64_t n() const { return int64_t(y.size()); }
  int n_outputs() const { return raw.ndim() == 1 ? 1 : int(raw.shape(0)); }
  const double* weights() const { return weight ? weight->data() : nullptr; }
  // Rows of a loss of one output.
  Rows of_one_output() const {
    require(n_outputs() == 1, "raw must have one output");
    return {y.data(), raw.data(), weights(), n()};
  }
};

constexpr int64_t kLossBlock = 2048;  // rows whose losses are worth a thread

// Calls f(begin, end) -> GradientSums for blocks of rows and adds up the answers.
template <class F>
std::tuple<int64_t, int64_t, int64_t> sum_over_rows(int64_t n, int n_threads, F&& f) {
  std::mutex adding;
  GradientSums sums;
  over_rows(
      n, n_threads,
      [&](int64_t begin, int64_t end) {
        const GradientSums part = f(begin, end);
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

std::pair<double, double> loss_extent_py(const AnyLoss& loss, const OwnedRows& owned, int n_threads) {
  const Rows rows = owned.of_one_output();
  return extent_over_rows(rows.n, n_threads, [&](int64_t begin, int64_t end) { return extent_any(loss, part_of(rows, begin, end)); });
}

std::pair<double, double> array_extent(In<double> gradients, In<double> hessians, int n_threads) {
  require(gradients.size() == hessians.size(), "gradients and hessians must have the same length");
  const Rows rows{gradients.data(), hessians.data(), nullptr, int64_t(gradients.size())};
  return extent_over_rows(rows.n, n_threads,
                          [&](int64_t begin, int64_t end) { return loss_extent(GivenGradients{}, part_of(rows, begin, end)); });
}

// Memory that fixed-point gradients are written to, and the factors of gradients and hessians. The array lives as long as it does.
struct GradientTarget {
  double gradient_scale, hessian_scale;
  nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu> out;

  // The memory of n rows, with 4 or 8 bytes for each.
  std::pair<uint8_t*, int> of_rows(int64_t n) const {
    require(out.ndim() == 1, "out must have one dimension");
    const bool pairs = out.size() == size_t(n) * sizeof(Pair);
    require(pairs || out.size() == size_t(n) * sizeof(Single), "fixed-point gradients must have 4 or 8 bytes for each row");
    return {out.data(), pairs ? sizeof(Pair) : sizeof(Single)};
  }
};

int gradient_size_of(const Bytes& gradients, int64_t n) {
  const bool pairs = gradients.size() == size_t(n) * sizeof(Pair);
  require(pairs || gradients.size() == size_t(n) * sizeof(Single), "fixed-point gradients must have 4 or 8 bytes for each row");
  return pairs ? sizeof(Pair) : sizeof(Single);
}

std::tuple<int64_t, int64_t, int64_t> loss_fixed_gradients_py(const AnyLoss& loss, const OwnedRows& owned, const GradientTarget& target,
                                                              int n_threads) {
  const Rows rows = owned.of_one_output();
  const auto [out, size] = target.of_rows(rows.n);
  return sum_over_rows(rows.n, n_threads, [&, out = out, size = size](int64_t begin, int64_t end) {
    return fixed_gradients_any(loss, part_of(rows, begin, end), target.gradient_scale, target.hessian_scale, size, out + begin * size);
  });
}

std::tuple<int64_t, int64_t, int64_t> fix_gradients_py(In<double> gradients, Weight hessians, const GradientTarget& target, int n_threads) {
  const int64_t n = int64_t(gradients.size());
  require(!hessians || hessians->size() == gradients.size(), "gradients and hessians must have the same length");
  const auto [out, size] = target.of_rows(n);
  return sum_over_rows(n, n_threads, [&, out = out, size = size](int64_t begin, int64_t end) {
    return fix_gradients(gradients.data() + begin, hessians ? hessians->data() + begin : nullptr, end - begin, target.gradient_scale,
                         target.hessian_scale, size, out + begin * size);
  });
}

void loss_values_py(const AnyLoss& loss, const OwnedRows& owned, Out<double> out, int n_threads) {
  const Rows rows = owned.of_one_output();
  require(int64_t(out.size()) == rows.n, "out must have one value for each row");
  over_rows(rows.n, n_threads, [&](int64_t begin, int64_t end) { values_any(loss, part_of(rows, begin, end), out.data() + begin); });
}

void loss_gradients_py(const AnyLoss& loss, const OwnedRows& owned, Out<double> gradients, Out<double> hessians, int n_threads) {
  const Rows rows = owned.of_one_output();
  require(int64_t(gradients.size()) == rows.n && int64_t(hessians.size()) == rows.n, "out must have one value for each row");
  over_rows(rows.n, n_threads, [&](int64_t begin, int64_t end) {
    gradients_any(loss, part_of(rows, begin, end), gradients.data() + begin, hessians.data() + begin);
  });
}

void check_classes(const In<double>& y, int n_classes) {
  for (size_t i = 0; i < y.size(); ++i) require(y.data()[i] >= 0 && y.data()[i] < n_classes, "y must hold class numbers");
}

// The fixed-point gradients of the rows [first, last).
std::vector<std::tuple<int64_t, int64_t, int64_t>> softmax_fixed_gradients_py(const OwnedRows& rows, const GradientTarget& target,
                                                                              int64_t first, int64_t last, int n_threads) {
  const int64_t n = rows.n();
  const int n_classes = rows.n_outputs();
  require(n_classes > 0, "there must be a class");
  const auto& out = target.out;
  require(out.ndim() == 2 && int64_t(out.shape(0)) == n_classes && int64_t(out.shape(1)) == n * int64_t(sizeof(Pair)),
          "out must be (n_classes, n rows of 8 bytes)");
  require(0 <= first && first <= last && last <= n, "rows out of range");
  std::mutex adding;
  std::vector<GradientSums> sums(n_classes);
  over_rows(last - first, n_threads, [&](int64_t begin, int64_t end) {
    begin += first, end += first;
    std::vector<FourSums> four(n_classes);
    std::vector<double> scratch(4 * n_classes);
    softmax_fixed_gradients(rows.y.data() + begin, rows.raw.data() + begin, rows.weights() ? rows.weights() + begin : nullptr, end - begin,
                            n, n_classes, target.gradient_scale, target.hessian_scale, reinterpret_cast<Pair*>(out.data()) + begin,
                            four.data(), scratch.data());
    std::lock_guard<std::mutex> guard(adding);
    for (int k = 0; k < n_classes; ++k) {
      const GradientSums part = four[k].joined();
      sums[k].abs_gradient += part.abs_gradient, sums[k].gradient += part.gradient, sums[k].hessian += part.hessian;
    }
  });
  std::vector<std::tuple<int64_t, int64_t, int64_t>> result;
  for (const GradientSums& s : sums) result.emplace_back(s.abs_gradient, s.gradient, s.hessian);
  return result;
}

void softmax_values_py(const OwnedRows& rows, Out<double> out, int n_threads) {
  const int64_t n = rows.n();
  const int n_classes = rows.n_outputs();
  require(int64_t(out.size()) == n, "out must have one value for each row");
  check_classes(rows.y, n_classes);
  over_rows(n, n_threads, [&](int64_t begin, int64_t end) {
    std::vector<double> scratch(4 * n_classes);
    softmax_values(rows.y.data() + begin, rows.raw.data() + begin, rows.weights() ? rows.weights() + begin : nullptr, end - begin, n,
                   n_classes, out.data() + begin, scratch.data());
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

// Both probabilities, (n_rows, 2), of the second one, (n_rows, 1).
void fill_two_classes(In2<double> second, Out2<double> out, int n_threads) {
  const int64_t n = int64_t(second.shape(0));
  require(second.shape(1) == 1 && int64_t(out.shape(0)) == n && out.shape(1) == 2, "there must be two probabilities for each one");
  over_rows(n, n_threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      out.data()[2 * i] = 1.0 - second.data()[i];
      out.data()[2 * i + 1] = second.data()[i];
    }
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

// Calls f(planes) with one pointer to n fixed-point gradients for each output, all of the same kind.
template <class F>
auto with_planes(const std::vector<Bytes>& planes, int64_t n, F&& f) {
  require(!planes.empty(), "there must be an output");
  const int size = gradient_size_of(planes[0], n);
  for (const Bytes& plane : planes) require(plane.size() == size_t(n) * size, "all outputs must have gradients of the same size");
  auto call = [&](auto gradient) {
    std::vector<const decltype(gradient)*> pointers;
    for (const Bytes& plane : planes) pointers.push_back(reinterpret_cast<const decltype(gradient)*>(plane.data()));
    return f(pointers);
  };
  return size == sizeof(Pair) ? call(Pair{}) : call(Single{});
}

std::pair<double, double> project_gradients_py(ListOf<Bytes> given, In<double> gradient_weights, In<double> hessian_weights,
                                               Out<double> gradient, std::optional<Out<double>> hessian, int n_threads) {
  const std::vector<Bytes> planes = to_vector<Bytes>(given);
  const Released free;
  const int64_t n = int64_t(gradient.size());
  require(gradient_weights.size() == planes.size() && hessian_weights.size() == planes.size(), "one weight for each output");
  require(!hessian || int64_t(hessian->size()) == n, "gradient and hessian must have the same length");
  std::mutex joining;
  Extent extent;
  with_planes(planes, n, [&](const auto& pointers) {
    over_rows(n, n_threads, [&](int64_t begin, int64_t end) {
      auto at = pointers;
      for (auto& plane : at) plane += begin;
      const Extent part = project_gradients(at.data(), int(at.size()), gradient_weights.data(), hessian_weights.data(), end - begin,
                                            gradient.data() + begin, hessian ? hessian->data() + begin : nullptr);
      std::lock_guard<std::mutex> guard(joining);
      extent = {std::max(extent.gradient, part.gradient), std::max(extent.hessian, part.hessian)};
    });
  });
  return {extent.gradient, extent.hessian};
}

// The exact sums of every output's gradients and hessians in each leaf, (n_leaves, n_outputs) each.
//   leaves  (n_rows,) numbers of 1, 2 or 4 bytes
void leaf_sums(ListOf<Bytes> given, Bytes leaves, int leaf_size, Out2<int64_t> gradient, Out2<int64_t> hessian, int n_threads) {
  require(leaf_size == 1 || leaf_size == 2 || leaf_size == 4, "leaf_size must be 1, 2 or 4");
  const std::vector<Bytes> planes = to_vector<Bytes>(given);
  const Released free;
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
  const auto release = nb::call_guard<Released>();
  nb::class_<GradientTarget>(m, "GradientTarget", "Memory for fixed-point gradients, and the factors of gradients and hessians.")
      .def(
          "__init__",
          [](GradientTarget* self, double gradient_scale, double hessian_scale, nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu> out) {
            require(out.ndim() == 1 || out.ndim() == 2, "out must have one dimension, or one row for each class");
            new (self) GradientTarget{gradient_scale, hessian_scale, std::move(out)};
          },
          "gradient_scale"_a, "hessian_scale"_a, "out"_a.noconvert());
  nb::class_<AnyLoss>(m, "Loss", "A loss of one output by its number, with its parameter if it has one.")
      .def(
          "__init__",
          [](AnyLoss* self, int kind, double parameter) {
            require(kind >= 0 && kind <= kLastLoss, "no such loss");
            new (self) AnyLoss{LossKind(kind), parameter};
          },
          "kind"_a, "parameter"_a = 0.0);
  nb::class_<OwnedRows>(m, "LossRows", "Rows of a loss: targets, raw predictions of one output or of several, weights.")
      .def(nb::init<In<double>, Flat<double>, Weight>(), "y"_a, "raw"_a, "weight"_a.none());
  m.def("loss_extent", &loss_extent_py, "loss"_a, "rows"_a, "n_threads"_a, release, "The largest |gradient| and hessian of a loss.");
  m.def("array_extent", &array_extent, "gradients"_a, "hessians"_a, "n_threads"_a, release, "The largest |gradient| and hessian.");
  m.def("loss_gradients", &loss_gradients_py, "loss"_a, "rows"_a, "gradients"_a, "hessians"_a, "n_threads"_a, release,
        "Fill in the gradients and hessians of a loss.");
  m.def("loss_fixed_gradients", &loss_fixed_gradients_py, "loss"_a, "rows"_a, "target"_a, "n_threads"_a, release,
        "Write the fixed-point gradients of a loss. Returns the sums of |gradient|, gradient and hessian.");
  m.def("fix_gradients", &fix_gradients_py, "gradients"_a, "hessians"_a.none(), "target"_a, "n_threads"_a, release,
        "Write given gradients as fixed-point numbers. Returns the sums of |gradient|, gradient and hessian.");
  m.def("loss_values", &loss_values_py, "loss"_a, "rows"_a, "out"_a, "n_threads"_a, release, "Fill in the loss of each row.");
  m.def("softmax_fixed_gradients", &softmax_fixed_gradients_py, "rows"_a, "target"_a, "first"_a, "last"_a, "n_threads"_a, release,
        "Write the fixed-point gradients of all classes for the rows [first, last). Returns the three sums of each class.");
  m.def("softmax_values", &softmax_values_py, "rows"_a, "out"_a, "n_threads"_a, release, "Fill in the log loss of each row.");
  m.def("apply_link", &apply_link, "link"_a, "raw"_a, "n_threads"_a, release, "Replace raw scores, (n_rows, n_outputs), by predictions.");
  m.def("fill_two_classes", &fill_two_classes, "second"_a, "out"_a, "n_threads"_a, release,
        "Fill in the probabilities of two classes, (n_rows, 2), from those of the second, (n_rows, 1).");
  m.def("add_leaf_values", &add_leaf_values_py, "leaves"_a, "leaf_size"_a, "values"_a, "raw"_a, "n_threads"_a, release,
        "Add the values of each row's leaf to raw scores.");
  m.def("project_gradients", &project_gradients_py, "planes"_a, "gradient_weights"_a, "hessian_weights"_a, "gradient"_a, "hessian"_a.none(),
        "n_threads"_a, "Fill in weighted sums of the outputs' fixed-point gradients. Returns the largest |gradient| and hessian.");
  m.def("leaf_sums", &leaf_sums, "planes"_a, "leaves"_a, "leaf_size"_a, "gradient"_a, "hessian"_a, "n_threads"_a,
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
  auto check_leaves = [](const In<uint32_t>& leaf_of_row, const Rows& rows, const Out<double>& out) {
    require(int64_t(leaf_of_row.size()) == rows.n, "leaf_of_row and y must have the same length");
    for (int64_t i = 0; i < rows.n; ++i) require(leaf_of_row.data()[i] < out.size(), "leaf out of range");
  };
  m.def(
      "leaf_quantiles",
      [=](In<uint32_t> leaf_of_row, const OwnedRows& owned, double quantile, Out<double> out, int n_threads) {
        const Rows rows = owned.of_one_output();
        check_leaves(leaf_of_row, rows, out);
        leaf_quantiles(leaf_of_row.data(), rows.n, int64_t(out.size()), rows.y, rows.raw, rows.weight, quantile, n_threads, out.data());
      },
      "leaf_of_row"_a, "rows"_a, "quantile"_a, "out"_a, "n_threads"_a, release, "Fill in the quantile of y - raw in each leaf.");
  m.def(
      "leaf_huber",
      [=](In<uint32_t> leaf_of_row, const OwnedRows& owned, double delta, Out<double> out, int n_threads) {
        const Rows rows = owned.of_one_output();
        require(delta > 0 && std::isfinite(delta), "delta must be positive");
        check_leaves(leaf_of_row, rows, out);
        leaf_huber(leaf_of_row.data(), rows.n, int64_t(out.size()), rows.y, rows.raw, rows.weight, delta, n_threads, out.data());
      },
      "leaf_of_row"_a, "rows"_a, "delta"_a, "out"_a, "n_threads"_a, release, "Fill in the shift of each leaf with the least Huber loss.");
}

}  // namespace sapwood
