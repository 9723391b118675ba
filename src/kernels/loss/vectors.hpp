// Fixed-point gradients of several outputs, one plane for each output: projected to one gradient a row, and summed by leaf.
#pragma once
#include <cstdint>

#include "core/fixed.hpp"
#include "core/simd.hpp"
#include "loss/gradients.hpp"

namespace sapwood {

// Gradients and hessians of four rows as doubles. A small integer's double is read off a magic number.
inline void load_fixed(const Pair* gradients, f64x4& g, f64x4& h) {
  constexpr double kTwo52 = 4503599627370496.0, kTwo31 = 2147483648.0;
  i64x4 words;
  std::memcpy(&words, gradients, sizeof words);
  const i64x4 magic = (i64x4)splat(kTwo52);
  g = (f64x4)(((words & 0xffffffffLL) ^ 0x80000000LL) | magic) - (kTwo52 + kTwo31);
  h = (f64x4)(((words >> 32) & 0xffffffffLL) | magic) - kTwo52;
}

inline void load_fixed(const Single* gradients, f64x4& g, f64x4& h) {
  i32x4 words;
  std::memcpy(&words, gradients, sizeof words);
  g = __builtin_convertvector(words, f64x4);
  h = splat(1.0);
}

// gradient[i] = sum over outputs of gradient_weights[k] * gradient k, and likewise for hessians, in the order of outputs.
//   planes    n_outputs x (n,) fixed-point gradients              IN
//   gradient  (n,) float64; hessian likewise, or null           OUT
// Returns the largest |gradient| and hessian.
template <class Fixed>
inline Extent project_gradients(const Fixed* const* planes, int n_outputs, const double* gradient_weights, const double* hessian_weights,
                                int64_t n, double* gradient, double* hessian) {
  constexpr int64_t kBlock = 512;  // rows whose sums stay near while planes are added
  f64x4 top_g = splat(0.0), top_h = splat(0.0);
  double g_sums[kBlock], h_sums[kBlock];
  Fixed rest[4] = {};
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t size = n - at < kBlock ? n - at : kBlock;
    for (int k = 0; k < n_outputs; ++k) {
      const double a = gradient_weights[k], b = hessian_weights[k];
      for (int64_t i = 0; i < size; i += 4) {
        const Fixed* from = planes[k] + at + i;
        if (size - i < 4) {
          std::memcpy(rest, from, size_t(size - i) * sizeof(Fixed));
          from = rest;
        }
        f64x4 g, h;
        load_fixed(from, g, h);
        store4(g_sums + i, k ? load4(g_sums + i) + a * g : a * g);
        if (hessian) store4(h_sums + i, k ? load4(h_sums + i) + b * h : b * h);
      }
    }
    const int64_t whole = (size + 3) / 4 * 4;
    for (int64_t i = size; i < whole; ++i) g_sums[i] = h_sums[i] = 0;
    for (int64_t i = 0; i < whole; i += 4) top_g = max4(abs4(load4(g_sums + i)), top_g);
    std::memcpy(gradient + at, g_sums, size_t(size) * sizeof(double));
    if (!hessian) continue;
    for (int64_t i = 0; i < whole; i += 4) top_h = max4(load4(h_sums + i), top_h);
    std::memcpy(hessian + at, h_sums, size_t(size) * sizeof(double));
  }
  return {largest(top_g), largest(top_h)};
}

// Adds each row's gradients to the sums of its leaf. Two tables take turns: neighbours are often in one leaf, and an add would wait for the
// one before.
//   sums  2 x (n_leaves,) gradient and hessian   IN/OUT
struct LeafSum {
  int64_t g = 0, h = 0;
};

inline int64_t hessian_of(Pair r) { return r.h; }
inline int64_t hessian_of(Single) { return 1; }

template <class Leaf, class Fixed>
inline void add_by_leaf(const Leaf* leaves, const Fixed* gradients, int64_t n, int64_t n_leaves, LeafSum* sums) {
  auto add = [&](int64_t i, LeafSum* to) {
    LeafSum& sum = to[leaves[i]];
    sum.g += gradients[i].g, sum.h += hessian_of(gradients[i]);
  };
  int64_t i = 0;
  for (; i + 2 <= n; i += 2) add(i, sums), add(i + 1, sums + n_leaves);
  if (i < n) add(i, sums);
}

}  // namespace sapwood
