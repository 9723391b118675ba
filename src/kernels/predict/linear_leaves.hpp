// Linear leaves: a leaf adds its value, and a slope times the distance of some inputs from their centers.
//
// An input is a step function of a feature: one number for each interval between cut points. A leaf clips it to the range that its training
// rows had; a missing value adds nothing. All code paths add the parts of a leaf in the same order, so they return the same bits.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace sapwood {

// The slopes of all leaves, end to end, and the inputs that they refer to.
struct LinearArrays {
  const int32_t* n_slopes = nullptr;  // (n_nodes,); null: leaves are constant
  const int32_t* input = nullptr;     // (n_slopes,) of each slope
  const double *slope = nullptr, *center = nullptr, *low = nullptr, *high = nullptr;
  int64_t n_all_slopes = 0;
  const int32_t* feature = nullptr;  // (n_inputs,)
  const int64_t* begin = nullptr;    // (n_inputs + 1,): where each one's cuts begin; its values begin at begin[i] + i
  const double *cuts = nullptr, *values = nullptr;
  int64_t n_inputs = 0;
};

struct Slope {
  double slope, center, low, high;
  int32_t input;

  // Its part in the prediction where the input is x, or missing: NaN.
  double part(double x) const {
    if (x != x) return 0;
    const double inside = x < low ? low : x > high ? high : x;
    return slope * (inside - center);
  }
};

// What a leaf adds where the inputs are x[input * step].
inline double linear_value(double value, const Slope* slope, const Slope* end, const double* x, int64_t step) {
  for (; slope < end; ++slope) value += slope->part(x[slope->input * step]);
  return value;
}

// Slopes by node.
struct Slopes {
  std::vector<Slope> list;
  std::vector<int64_t> begin;  // (n_nodes + 1,)

  Slopes() = default;
  Slopes(const LinearArrays& arrays, int64_t n_nodes) {
    list.reserve(size_t(arrays.n_all_slopes));
    for (int64_t k = 0; k < arrays.n_all_slopes; ++k) {
      list.push_back({arrays.slope[k], arrays.center[k], arrays.low[k], arrays.high[k], arrays.input[k]});
    }
    begin.assign(size_t(n_nodes) + 1, 0);
    for (int64_t i = 0; i < n_nodes; ++i) begin[i + 1] = begin[i] + arrays.n_slopes[i];
  }
  bool empty() const { return begin.empty(); }
  const Slope* of(int64_t node) const { return list.data() + begin[node]; }
  const Slope* end_of(int64_t node) const { return list.data() + begin[node + 1]; }
};

// Step functions of features.
struct LinearInputs {
  std::vector<int32_t> feature;
  std::vector<int64_t> begin;
  std::vector<double> cuts, values;

  LinearInputs() = default;
  explicit LinearInputs(const LinearArrays& arrays) {
    if (!arrays.n_slopes) return;
    feature.assign(arrays.feature, arrays.feature + arrays.n_inputs);
    begin.assign(arrays.begin, arrays.begin + arrays.n_inputs + 1);
    cuts.assign(arrays.cuts, arrays.cuts + begin.back());
    values.assign(arrays.values, arrays.values + begin.back() + arrays.n_inputs);
  }
  int size() const { return int(feature.size()); }
  double value(int input, double x) const {
    if (x != x) return std::numeric_limits<double>::quiet_NaN();
    const double *first = cuts.data() + begin[input], *last = cuts.data() + begin[input + 1];
    return values[size_t(begin[input] + input + (std::lower_bound(first, last, x) - first))];
  }
};

}  // namespace sapwood
