// Formats, rules and constraints of trees.
#include "grow/rules.hpp"

#include "bindings/bindings.hpp"

namespace sapwood {
namespace {

HistogramFormat make_format(int gradients, int count_bits, int gradient_shift, int hessian_shift) {
  require(gradients >= 0 && gradients <= 2, "gradients must be 0, 1 or 2");
  require(count_bits > 0 && count_bits < 48, "count_bits out of range");
  require(gradient_shift >= 0 && gradient_shift < 31 && hessian_shift >= 0 && hessian_shift < 31, "shift out of range");
  return {GradientFormat(gradients), count_bits, gradient_shift, hessian_shift};
}

template <class T, class Array>
std::vector<T> to_vector(const std::optional<Array>& array) {
  std::vector<T> values;
  for (size_t i = 0; array && i < array->size(); ++i) values.push_back(T(array->data()[i]));
  return values;
}

TreeConstraints make_constraints(double l1, double max_step, double smooth, double score_noise, bool symmetric, bool neighbours,
                                 std::optional<In<double>> weights, std::optional<In<int8_t>> monotonic, std::optional<In<uint8_t>> kinds,
                                 double category_smooth, double category_l2, int64_t min_level_rows) {
  require(l1 >= 0 && max_step > 0 && smooth >= 0 && score_noise >= 0, "constraints must not be negative");
  require(category_smooth >= 0 && category_l2 >= 0, "constraints must not be negative");
  TreeConstraints constraints{l1, max_step, smooth, score_noise, symmetric, neighbours, {}, {}, {}, {}};
  constraints.categories = {category_smooth, category_l2, min_level_rows};
  constraints.weights = to_vector<double>(weights);
  constraints.monotonic = to_vector<int8_t>(monotonic);
  constraints.kinds = to_vector<Kind>(kinds);
  require(!monotonic || !kinds || monotonic->size() == kinds->size(), "one kind and one direction for each feature");
  for (size_t f = 0; kinds && f < kinds->size(); ++f) {
    require(kinds->data()[f] <= 2, "no such kind of feature");
    require(!monotonic || !monotonic->data()[f] || !kinds->data()[f], "a category cannot be monotonic");
  }
  return constraints;
}

}  // namespace

void bind_rules(nb::module_& m) {
  nb::class_<HistogramFormat>(m, "HistogramFormat", "How a tree's histograms hold their sums. Sums of several partitions add up.")
      .def(
          "__init__",
          [](HistogramFormat* self, int gradients, int count_bits, int gradient_shift, int hessian_shift) {
            new (self) HistogramFormat(make_format(gradients, count_bits, gradient_shift, hessian_shift));
          },
          "gradients"_a, "count_bits"_a, "gradient_shift"_a = 0, "hessian_shift"_a = 0)
      .def_prop_ro(
          "gradients", [](const HistogramFormat& self) { return int(self.gradients); }, "0: single, 1: wide, 2: narrow.")
      .def_ro("count_bits", &HistogramFormat::count_bits)
      .def_ro("gradient_shift", &HistogramFormat::gradient_shift)
      .def_ro("hessian_shift", &HistogramFormat::hessian_shift);
  nb::class_<SplitRules>(m, "SplitRules", "Rules of one tree's splits, in the units of its histograms.")
      .def(
          "__init__",
          [](SplitRules* self, double l2, double hessian_unit, double min_hessian, double min_gain, double noise, int64_t min_count,
             double gradient_unit, bool extra) {
            require(gradient_unit > 0, "gradient_unit must be positive");
            new (self) SplitRules{l2, hessian_unit, min_hessian, min_gain, noise, std::max<int64_t>(1, min_count), gradient_unit, extra};
          },
          "l2"_a = 0.0, "hessian_unit"_a = 1.0, "min_hessian"_a = 0.0, "min_gain"_a = 0.0, "noise"_a = 0.0, "min_count"_a = 1,
          "gradient_unit"_a = 1.0, "extra"_a = false);
  nb::class_<TreeSettings>(m, "TreeSettings", "Everything but gradients that one tree is grown by.")
      .def(nb::init<HistogramFormat, SplitRules, int, uint64_t>(), "format"_a, "rules"_a, "max_depth"_a, "key"_a)
      .def_ro("format", &TreeSettings::format)
      .def_ro("key", &TreeSettings::key);
  nb::class_<TreeConstraints>(m, "TreeConstraints", "Constraints of all trees of a model, in real units.")
      .def(
          "__init__",
          [](TreeConstraints* self, double l1, double max_step, double smooth, double score_noise, bool symmetric, bool neighbours,
             std::optional<In<double>> weights, std::optional<In<int8_t>> monotonic, std::optional<In<uint8_t>> kinds,
             double category_smooth, double category_l2, int64_t min_level_rows) {
            new (self) TreeConstraints(make_constraints(l1, max_step, smooth, score_noise, symmetric, neighbours, weights, monotonic, kinds,
                                                        category_smooth, category_l2, min_level_rows));
          },
          "l1"_a = 0.0, "max_step"_a = TreeConstraints::kNoLimit, "smooth"_a = 0.0, "score_noise"_a = 0.0, "symmetric"_a = false,
          "neighbours"_a = false, "weights"_a = nb::none(), "monotonic"_a = nb::none(), "kinds"_a = nb::none(), "category_smooth"_a = 0.0,
          "category_l2"_a = 0.0, "min_level_rows"_a = 1);
}

}  // namespace sapwood
