// Elementary functions for any argument, four numbers at a time. The same bits on every CPU: those of libm and NumPy differ.
#pragma once
#include <limits>

#include "core/simd.hpp"

namespace sapwood {

// e^x; 0 below -708, and at most e^708.
inline f64x4 exp_any(f64x4 x) { return select(x != x, x, select(x < -708.0, splat(0.0), exp4(x))); }

// ln(x); -inf of zero, NaN of negative numbers.
inline f64x4 log_any(f64x4 x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kTwo54 = 18014398509481984.0, kLn2 = 0.69314718055994531;
  const i64x4 small = x < std::numeric_limits<double>::min();
  const f64x4 found = log4(select(small, x * kTwo54, x)) - select(small, splat(54 * kLn2), splat(0.0));
  const f64x4 below = select(x == 0.0, splat(-kInfinity), splat(std::numeric_limits<double>::quiet_NaN()));
  return select(x > 0.0, select(x == kInfinity, x, found), below);
}

// ln(1 + x), precise for small x (Kahan): what 1 + x loses is restored by the factor x / ((1 + x) - 1).
inline f64x4 log1p_any(f64x4 x) {
  const f64x4 u = 1.0 + x, rest = u - 1.0;
  const i64x4 same = (u == 1.0) | (u == std::numeric_limits<double>::infinity());
  return select(same, x, log_any(u) * (x / select(same, splat(1.0), rest)));
}

// e^x - 1, precise for small x (Kahan): the factor x / ln(e^x) restores what e^x loses.
inline f64x4 expm1_any(f64x4 x) {
  const f64x4 u = exp_any(x), rest = u - 1.0;
  const i64x4 same = u == 1.0, low = x < -40.0;
  const f64x4 found = rest * (x / log_any(select(same | low, splat(2.0), u)));
  return select(same, x, select(low, splat(-1.0), select(x > 1.0, rest, found)));
}

inline f64x4 tanh_any(f64x4 x) {
  const f64x4 t = expm1_any(-2.0 * abs4(x)), size = -t / (2.0 + t);
  return select(x < 0.0, -size, size);
}

// ln(1 / (1 + e^-x))
inline f64x4 log_expit(f64x4 x) { return select(x != x, x, min4(x, splat(0.0)) - log1p_any(exp_any(-abs4(x)))); }

// e^(x^2) erfc(x) of x >= 0, by the rational approximations of Cody (1969).
inline f64x4 erfcx(f64x4 x) {
  constexpr double kA[] = {3.16112374387056560e00, 1.13864154151050156e02, 3.77485237685302021e02, 3.20937758913846947e03,
                           1.85777706184603153e-1};
  constexpr double kB[] = {2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03, 2.84423683343917062e03};
  constexpr double kC[] = {5.64188496988670089e-1, 8.88314979438837594e00, 6.61191906371416295e01,
                           2.98635138197400131e02, 8.81952221241769090e02, 1.71204761263407058e03,
                           2.05107837782607147e03, 1.23033935479799725e03, 2.15311535474403846e-8};
  constexpr double kD[] = {1.57449261107098347e01, 1.17693950891312499e02, 5.37181101862009858e02, 1.62138957456669019e03,
                           3.29079923573345963e03, 4.36261909014324716e03, 3.43936767414372164e03, 1.23033935480374942e03};
  constexpr double kP[] = {3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
                           1.60837851487422766e-2, 6.58749161529837803e-4, 1.63153871373020978e-2};
  constexpr double kQ[] = {2.56852019228982242e00, 1.87295284992346047e00, 5.27905102951428412e-1, 6.05183413124413191e-2,
                           2.33520497626869185e-3};
  constexpr double kOneOverRootPi = 5.6418958354775628695e-1;
  const i64x4 low = x <= 0.46875, high = x > 4.0;
  // Each of the three formulas gets arguments of its own range.
  const f64x4 a = select(low, x, splat(0.0)), y = a * a;
  f64x4 top = kA[4] * y, bottom = y;
  for (int i = 0; i < 3; ++i) top = (top + kA[i]) * y, bottom = (bottom + kB[i]) * y;
  const f64x4 near = exp4(y) * (1.0 - a * (top + kA[3]) / (bottom + kB[3]));
  const f64x4 m = select(low | high, splat(1.0), x);
  top = kC[8] * m, bottom = m;
  for (int i = 0; i < 7; ++i) top = (top + kC[i]) * m, bottom = (bottom + kD[i]) * m;
  const f64x4 middle = (top + kC[7]) / (bottom + kD[7]);
  const f64x4 b = select(high, x, splat(5.0)), z = 1.0 / (b * b);
  top = kP[5] * z, bottom = z;
  for (int i = 0; i < 4; ++i) top = (top + kP[i]) * z, bottom = (bottom + kQ[i]) * z;
  const f64x4 far = (kOneOverRootPi - z * (top + kP[4]) / (bottom + kQ[4])) / b;
  return select(low, near, select(high, far, middle));
}

// The logarithm of the standard normal distribution function.
inline f64x4 log_ndtr(f64x4 x) {
  constexpr double kRootHalf = 0.70710678118654752;
  const f64x4 size = abs4(x), half = 0.5 * erfcx(size * kRootHalf), square = -0.5 * size * size;
  const f64x4 below = log_any(half) + square, above = log1p_any(-half * exp_any(square));
  return select(x != x, x, select(x < 0.0, below, above));
}

}  // namespace sapwood
