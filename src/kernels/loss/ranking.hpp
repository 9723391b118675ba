// Ranking: gradients and measures of rows that come in queries. A query is one task, and its sums have one order, so nothing depends on
// the number of threads.
#pragma once
#include <cstdint>

#include "loss/gradients.hpp"

namespace sapwood {

// The measure whose change by a swap weights a pair of rows.
enum class RankMeasure : int {
  kNdcg = 0,      // the change of normalised discounted cumulative gain
  kMap = 1,       // of average precision; gains are 0 and 1
  kMrr = 2,       // of the reciprocal rank of the first relevant row; gains are 0 and 1
  kPairwise = 3,  // nothing: each pair counts the same
};

// The rows of all queries.
//   gain    (n_rows,) float64: higher belongs higher up
//   raw     (n_rows,) float64
//   weight  (n_rows,) float64, or null
//   begin   (n_queries + 1,) int64: where each query's rows begin
//   unit    (n_queries,) float64: what the changes of a query are multiplied by
struct RankedRows {
  const double* gain;
  const double* raw;
  const double* weight;
  const int64_t* begin;
  const double* unit;
  int64_t n_queries;
};

// How pairs are weighed: only those with a row among the first `truncation` of the present order; `steepness` of the logistic function;
// `normalize`: changes are divided by the distance of the scores, and the sum of a query's gradients is taken down to its logarithm.
struct PairRule {
  RankMeasure measure;
  int64_t truncation;
  double steepness;
  bool normalize;
};

// Gradients and hessians of pairs of rows in a query, for all queries; ties in raw keep the order of the rows. Returns the largest of both.
//   gradient, hessian  (n_rows,) float64   OUT
Extent pair_gradients(const RankedRows& rows, const PairRule& rule, int n_threads, double* gradient, double* hessian);

// For each query: sum over pairs with different gains of log(1 + exp(-steepness * (raw of the higher - raw of the lower))), times its unit.
//   out  (n_queries,) float64   OUT
void pair_values(const RankedRows& rows, double steepness, int n_threads, double* out);

// Cross-entropy of each query's softmax with targets in proportion to `gain`: gradients with the terms of second and third order of
// Bruch (2021), hessians p (1 - p). Returns the largest of both.
Extent listwise_gradients(const RankedRows& rows, int n_threads, double* gradient, double* hessian);

// For each query: its cross-entropy, times its unit.
void listwise_values(const RankedRows& rows, int n_threads, double* out);

// For each query: the sum of gain * discount down to a rank (ties share the mean of their discounts) for kNdcg; average precision for
// kMap; the reciprocal rank of the first row with a gain for kMrr (there, of rows with the same score those without a gain come first).
//   out  (n_queries,) float64   OUT
void rank_values(const RankedRows& rows, RankMeasure measure, int64_t last_rank, int n_threads, double* out);

// 1 / log2(rank + 2) for the ranks from 0 on.
void rank_discounts(int64_t n, double* out);

}  // namespace sapwood
