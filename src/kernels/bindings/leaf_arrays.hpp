// The parameters of leaves as the bindings take them, checked so that the kernels need not.
#pragma once
#include <cmath>

#include "bindings/bindings.hpp"
#include "bins/code_table.hpp"
#include "predict/tree_arrays.hpp"

namespace sapwood {

// The slopes of linear leaves; the arrays live as long as it does.
struct OwnedSlopes {
  In<int32_t> n_slopes, input;
  In<double> slope, center, low, high;
  In<int32_t> feature;
  In<int64_t> begin;
  In<double> cuts, values;

  // Checks all but the number of nodes and features, which are known later.
  void check() const {
    const size_t n = input.size(), n_inputs = feature.size();
    require(slope.size() == n && center.size() == n && low.size() == n && high.size() == n, "slope arrays must have the same length");
    int64_t total = 0;
    for (size_t i = 0; i < n_slopes.size(); ++i) {
      require(n_slopes.data()[i] >= 0, "a node has no negative number of slopes");
      total += n_slopes.data()[i];
    }
    require(total == int64_t(n), "slopes must cover the nodes");
    for (size_t k = 0; k < n; ++k) {
      require(input.data()[k] >= 0 && size_t(input.data()[k]) < n_inputs, "input out of range");
      require(low.data()[k] <= high.data()[k], "the range of a slope is empty");
    }
    require(begin.size() == n_inputs + 1 && begin.data()[0] == 0 && begin.data()[n_inputs] == int64_t(cuts.size()) &&
                values.size() == cuts.size() + n_inputs,
            "inputs do not fit");
    for (size_t i = 0; i < n_inputs; ++i) {
      require(begin.data()[i] < begin.data()[i + 1] && begin.data()[i + 1] <= int64_t(cuts.size()), "an input needs a cut point");
      for (int64_t k = begin.data()[i] + 1; k < begin.data()[i + 1]; ++k) require(cuts.data()[k - 1] < cuts.data()[k], "cuts must ascend");
      require(cuts.data()[begin.data()[i]] == cuts.data()[begin.data()[i]], "a cut point is not a number");
      require(feature.data()[i] >= 0, "a feature is out of range");
    }
  }

  LinearArrays arrays() const {
    return {.n_slopes = n_slopes.data(),
            .input = input.data(),
            .slope = slope.data(),
            .center = center.data(),
            .low = low.data(),
            .high = high.data(),
            .n_all_slopes = int64_t(input.size()),
            .feature = feature.data(),
            .begin = begin.data(),
            .cuts = cuts.data(),
            .values = values.data(),
            .n_inputs = int64_t(feature.size())};
  }
};

// The parameters of leaves; the arrays live as long as it does.
struct OwnedLeaves {
  Flat<double> value;
  std::optional<OwnedSlopes> slopes{};

  // For so many nodes and outputs.
  LeafArrays arrays(int64_t n_nodes, int64_t n_outputs) const {
    const bool vectors = int64_t(value.size()) != n_nodes;
    require(!vectors || int64_t(value.size()) == n_nodes * n_outputs, "a node must have one value, or one for each output");
    require(!slopes || (!vectors && int64_t(slopes->n_slopes.size()) == n_nodes), "a node with slopes must have one value");
    return {value.data(), vectors ? int(n_outputs) : 1, slopes ? slopes->arrays() : LinearArrays{}};
  }

  // Checks the inputs: is_category(feature) tells which features are split by sets of levels.
  template <class IsCategory>
  void check_features(int n_features, IsCategory&& is_category) const {
    for (size_t i = 0; slopes && i < slopes->feature.size(); ++i) {
      const int32_t f = slopes->feature.data()[i];
      require(f < n_features && !is_category(f), "an input is not a feature of numbers");
    }
  }
};

// The values of inputs by the codes of pages, whose cut points must be those of the inputs.
inline std::vector<CodeTable<double>> input_tables(const LinearArrays& arrays, const ColumnLayout& columns, const int32_t* missing_bin,
                                                   int n_features) {
  std::vector<CodeTable<double>> tables(size_t(arrays.n_inputs));
  for (int64_t i = 0; i < arrays.n_inputs; ++i) {
    const int32_t f = arrays.feature[i];
    require(f < n_features && arrays.begin[i + 1] - arrays.begin[i] + 1 == missing_bin[f], "inputs must have the cut points of the page");
    const double* values = arrays.values + arrays.begin[i] + i;
    tables[i].fill(columns.features[f], missing_bin[f] + 1, [&](int b) { return b == missing_bin[f] ? NAN : values[b]; });
  }
  return tables;
}

}  // namespace sapwood
