// Distinct values, cut points and medians: everything here depends on values and weights only, never on the order of rows.
#pragma once
#include <cstdint>
#include <vector>

#include "bins/sparse.hpp"
#include "grow/sorted.hpp"
#include "predict/scoring.hpp"

namespace sapwood {

struct Distinct {
  std::vector<double> values;   // ascending, no missing ones
  std::vector<double> weights;  // of each
};

// Weights as whole numbers times 2^-shift, so that their sums do not depend on an order.
struct FixedWeights {
  std::vector<int64_t> values;
  int shift = 0;
  __int128 total = 0;

  FixedWeights() = default;
  FixedWeights(const double* weight, int64_t n);
};

// At most max_bins - 1 cut points. Few distinct values: one halfway between each two. Many: bins of about equal weight; a value heavier
// than the mean of a bin ends its bin, and begins one unless the bin before is less than half full; the others are put in the other bins.
std::vector<double> cut_points(const Distinct& column, int max_bins);

// The cut points of each column of a table, from the given n rows (or the first n, if null).
std::vector<std::vector<double>> find_cuts(const Table& table, const uint32_t* rows, int64_t n, const double* weight, int max_bins,
                                           int n_threads);

// The same of each column of a sparse table.
std::vector<std::vector<double>> find_cuts(const SparseMatrix& columns, const double* weight, const int32_t* max_bins, int n_threads);

// The rows of each column by value.
std::vector<SortedColumn> sort_columns(const Table& table, int n_threads);

// The weighted quantile of y - raw in each leaf: the mean of the least value with at least, and the least with more than, that fraction of
// the weight at or below it.
void leaf_quantiles(const uint32_t* leaf_of_row, int64_t n, int64_t n_leaves, const double* y, const double* raw, const double* weight,
                    double quantile, int n_threads, double* out);

// The step of each leaf with the least Huber loss: where sum(weight * clip(y - raw - step, -delta, delta)) is zero.
void leaf_huber(const uint32_t* leaf_of_row, int64_t n, int64_t n_leaves, const double* y, const double* raw, const double* weight,
                double delta, int n_threads, double* out);

// The sum of n numbers, correctly rounded to about 2^-60 of the largest: an integer sum, so that the order leaves no trace.
double exact_sum(const double* x, int64_t n, int n_threads);

// The sum of n numbers times 2^shift, each rounded to a whole number below 2^62.
__int128 exact_sum(const double* x, int64_t n, int shift, int n_threads);

}  // namespace sapwood
