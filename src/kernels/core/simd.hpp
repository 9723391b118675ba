// Vectors of four doubles or eight ints that every compiler target understands, and the functions of a loss on them.
//
// These are GCC/Clang vector extensions: the AVX2 module uses 256-bit registers, the baseline module pairs of 128-bit ones, and both
// do the same IEEE operations in the same order (no contraction, no fast-math), so both give the same bits.
#pragma once
#include <cstdint>
#include <cstring>

namespace sapwood {
typedef double f64x4 __attribute__((vector_size(32)));
typedef int64_t i64x4 __attribute__((vector_size(32)));
typedef uint64_t u64x4 __attribute__((vector_size(32)));
typedef int32_t i32x4 __attribute__((vector_size(16)));

inline f64x4 splat(double x) { return f64x4{x, x, x, x}; }

inline f64x4 load4(const double* p) {
  f64x4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline void store4(double* p, f64x4 v) { std::memcpy(p, &v, sizeof v); }

// Four of the eight lanes of two vectors.
template <int a, int b, int c, int d>
inline u64x4 shuffle(u64x4 x, u64x4 y) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(x, y, a, b, c, d);
#else
  return __builtin_shuffle(x, y, u64x4{a, b, c, d});
#endif
}

// Whether a lane of a mask is true.
inline bool any(i64x4 mask) {
#ifdef __AVX__
  typedef long long register4 __attribute__((vector_size(32)));
  return !__builtin_ia32_ptestz256((register4)mask, (register4)mask);
#else
  return mask[0] | mask[1] | mask[2] | mask[3];
#endif
}

inline f64x4 select(i64x4 mask, f64x4 yes, f64x4 no) { return (f64x4)((mask & (i64x4)yes) | (~mask & (i64x4)no)); }
inline f64x4 max4(f64x4 a, f64x4 b) { return select(a > b, a, b); }
inline f64x4 min4(f64x4 a, f64x4 b) { return select(a < b, a, b); }
inline f64x4 abs4(f64x4 a) { return (f64x4)((i64x4)a & 0x7fffffffffffffffLL); }

// Nearest integer of |x| < 2^51, as a double: adding 1.5 * 2^52 leaves no room for a fraction.
inline constexpr double kRound = 6755399441055744.0;
inline f64x4 round4(f64x4 x) { return (x + kRound) - kRound; }

// The same, as 64-bit integers.
inline i64x4 to_int(f64x4 x) { return (i64x4)(x + kRound) - (i64x4)splat(kRound); }

// e^x to about one unit in the last place. x is clamped to [-708, 708], so the result is always a normal, finite number.
inline f64x4 exp4(f64x4 x) {
  x = min4(max4(x, splat(-708.0)), splat(708.0));
  f64x4 n = round4(x * 1.4426950408889634);
  f64x4 r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  // The Taylor polynomial of degree 12 on |r| <= ln(2) / 2, in a tree of short chains rather than one long one.
  const f64x4 r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
  const f64x4 a = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0));
  const f64x4 b = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
  const f64x4 c = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0));
  const f64x4 p = (a + r4 * b) + r8 * (c + r4 * (1.0 / 479001600.0));
  i64x4 exponent = to_int(n);
  return (f64x4)((i64x4)p + (exponent << 52));
}

// The same for eight floats, to a few units in the last place, for x <= 0. Below -60 it stays at e^-60: products with it keep clear of
// subnormal numbers, which are slow.
typedef float f32x8 __attribute__((vector_size(32)));
typedef int32_t i32x8 __attribute__((vector_size(32)));

inline f32x8 splat8(float x) { return f32x8{x, x, x, x, x, x, x, x}; }

inline f32x8 load8(const float* p) {
  f32x8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline void store8(float* p, f32x8 v) { std::memcpy(p, &v, sizeof v); }

inline f32x8 select8(i32x8 mask, f32x8 yes, f32x8 no) { return (f32x8)((mask & (i32x8)yes) | (~mask & (i32x8)no)); }
inline f32x8 abs8(f32x8 a) { return (f32x8)((i32x8)a & 0x7fffffff); }

inline f32x8 exp8(f32x8 x) {
  x = select8(x > -60.0f, x, splat8(-60.0f));
  const f32x8 shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23 leaves no room for a fraction
  const f32x8 n = shifted - 12582912.0f;
  const f32x8 r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  f32x8 p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const i32x8 exponent = (i32x8)shifted - (i32x8)splat8(12582912.0f);
  return (f32x8)((i32x8)p + (exponent << 23));
}

// ln(x) of positive, normal x.
inline f64x4 log4(f64x4 x) {
  i64x4 bits = (i64x4)x;
  i64x4 exponent = (i64x4)((((i64x4)bits >> 52) & 0x7ff) - 1023);
  f64x4 m = (f64x4)((bits & 0x000fffffffffffffLL) | 0x3ff0000000000000LL);  // [1, 2)
  i64x4 high = m > 1.4142135623730951;
  m = select(high, m * 0.5, m);  // [0.707, 1.414)
  exponent = exponent - high;    // a true mask is -1
  // The exponent is small: its double is read off the magic number.
  f64x4 e = (f64x4)(exponent + (i64x4)splat(kRound)) - kRound;
  f64x4 s = (m - 1.0) / (m + 1.0);  // ln m = 2 atanh s
  f64x4 z = s * s;
  f64x4 p = splat(1.0 / 23.0);
  p = p * z + 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  f64x4 tail = e * 1.90821492927058770002e-10 + 2.0 * s * z * p;
  return e * 6.93147180369123816490e-01 + (2.0 * s + tail);
}

}  // namespace sapwood
