// Draws the rows that a tree is grown on, by hashes of their ids, and scales their gradients so that sums stay right on average.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/fixed.hpp"
#include "core/hash.hpp"
#include "core/simd.hpp"
#include "loss/gradients.hpp"

namespace sapwood {

enum class Sampling : int {
  kUniform = 0,   // every row with probability a
  kTop = 1,       // rows whose |gradient| * hessian is at least a; of the others every one with probability b
  kVariance = 2,  // a row with probability sqrt(g^2 + a h^2) / b
  kBayesian = 3,  // all rows, weighted by (-log u)^a
};

inline constexpr double kLeastProbability = 1.0 / 16, kMostWeight = 32.0;

// A way to sample, its numbers a and b, and the key of its random numbers.
struct RowSampling {
  Sampling kind;
  double a, b;
  uint64_t key;
};

// Draws from n gradients, those of the rows first, first + 1, ... of a partition.
//   first_row  id of the partition's first row   IN
//   kept       rows of the partition drawn       OUT
inline GradientSums sample_pairs(const RowSampling& rows, int64_t first_row, int64_t first, Pair* gradients, int64_t n,
                                 std::vector<int64_t>& kept) {
  const auto [sampling, a, b, key] = rows;
  GradientSums sums;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t row = uint64_t(first_row + first + i);
    const double u = (double(hash_row(row_key(key, row), uint32_t(row))) + 0.5) / 4294967296.0;
    const double g = gradients[i].g, h = gradients[i].h;
    double probability = a, factor = 1.0;
    if (sampling == Sampling::kTop) {
      probability = std::fabs(g) * h >= a ? 1.0 : b;
      factor = 1.0 / probability;
    } else if (sampling == Sampling::kVariance) {
      probability = std::min(1.0, std::max(kLeastProbability, std::sqrt(g * g + a * h * h) / b));
      factor = 1.0 / probability;
    } else if (sampling == Sampling::kBayesian) {
      probability = 1.0;
      const f64x4 weight = exp4(a * log4(-log4(splat(u))));
      factor = std::min(weight[0], kMostWeight);
    }
    if (u >= probability && sampling != Sampling::kBayesian) continue;
    kept.push_back(first + i);
    const double most_g = double(kMaxGradient), most_h = double(kMaxHessian);
    const int64_t gi = to_int(splat(std::min(std::max(g * factor, -most_g), most_g)))[0],
                  hi = to_int(splat(std::min(h * factor, most_h)))[0];
    gradients[i] = Pair{int32_t(gi), uint32_t(hi)};
    sums.abs_gradient += gi < 0 ? -gi : gi, sums.gradient += gi, sums.hessian += hi;
  }
  return sums;
}

}  // namespace sapwood
