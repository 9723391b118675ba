// The losses, four rows at a time: gradients, hessians and values, as doubles and as fixed-point numbers.
#pragma once
#include <cstdint>

#include "core/fixed.hpp"
#include "core/simd.hpp"

namespace sapwood {

enum class LossKind : int {
  kSquared = 0,
  kAbsolute = 1,
  kPoisson = 2,
  kGamma = 3,
  kLogistic = 4,
  kHuber = 5,
  kQuantile = 6,
  kExpectile = 7,
  kTweedie = 8,
  kLogCosh = 9,
  kMape = 10,
  kFocal = 11,
};
inline constexpr int kLastLoss = 11;

// Largest |gradient| and hessian over some rows.
struct Extent {
  double gradient = 0, hessian = 0;
};

// Exact sums of fixed-point gradients over some rows.
struct GradientSums {
  int64_t abs_gradient = 0, gradient = 0, hessian = 0;
};

// Rows of one output: `weight` may be null.
struct Rows {
  const double* y;
  const double* raw;
  const double* weight;
  int64_t n;
};

struct Squared {
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const { g = raw - y, h = splat(1.0); }
  f64x4 value(f64x4 y, f64x4 raw) const { return 0.5 * ((raw - y) * (raw - y)); }
};

struct Absolute {
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const {
    g = select(raw > y, splat(1.0), select(raw < y, splat(-1.0), splat(0.0)));
    h = splat(1.0);
  }
  f64x4 value(f64x4 y, f64x4 raw) const { return abs4(raw - y); }
};

struct Poisson {
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const { h = exp4(raw), g = h - y; }
  f64x4 value(f64x4 y, f64x4 raw) const { return exp4(raw) - y * raw; }
};

struct Gamma {
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const { h = y * exp4(-raw), g = 1.0 - h; }
  f64x4 value(f64x4 y, f64x4 raw) const { return raw + y * exp4(-raw); }
};

struct Logistic {
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const {
    const f64x4 e = exp4(-abs4(raw));  // in (0, 1]: never overflows
    const f64x4 inverse = 1.0 / (1.0 + e);
    const f64x4 p = select(raw >= 0.0, inverse, e * inverse);
    g = p - y;
    h = e * inverse * inverse;
  }
  f64x4 value(f64x4 y, f64x4 raw) const { return max4(raw, splat(0.0)) - y * raw + log4(1.0 + exp4(-abs4(raw))); }
};

struct Huber {
  double delta;
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const {
    g = max4(min4(raw - y, splat(delta)), splat(-delta));
    h = splat(1.0);
  }
  f64x4 value(f64x4 y, f64x4 raw) const {
    const f64x4 d = abs4(raw - y), inner = min4(d, splat(delta));
    return inner * (d - 0.5 * inner);
  }
};

struct Quantile {
  double quantile;
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const {
    g = select(raw > y, splat(1.0 - quantile), select(raw < y, splat(-quantile), splat(0.0)));
    h = splat(1.0);
  }
  f64x4 value(f64x4 y, f64x4 raw) const { return select(raw > y, splat(1.0 - quantile), splat(-quantile)) * (raw - y); }
};

struct Expectile {
  double expectile;
  f64x4 side(f64x4 y, f64x4 raw) const { return select(raw > y, splat(1.0 - expectile), splat(expectile)); }
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const { h = side(y, raw), g = h * (raw - y); }
  f64x4 value(f64x4 y, f64x4 raw) const { return 0.5 * side(y, raw) * ((raw - y) * (raw - y)); }
};

struct Tweedie {
  double power;  // between 1 and 2
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const {
    const f64x4 a = y * exp4((1.0 - power) * raw), b = exp4((2.0 - power) * raw);
    g = b - a;
    h = (2.0 - power) * b + (power - 1.0) * a;
  }
  f64x4 value(f64x4 y, f64x4 raw) const {
    return exp4((2.0 - power) * raw) / (2.0 - power) + y * exp4((1.0 - power) * raw) / (power - 1.0);
  }
};

struct LogCosh {
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const {
    const f64x4 d = raw - y, size = abs4(d), e = exp4(-2.0 * size);
    const f64x4 tanh = (1.0 - e) / (1.0 + e);
    g = select(d < 0.0, -tanh, tanh);
    const f64x4 z = d * d, near = 1.0 - z * (1.0 / 3.0 - z * (2.0 / 15.0 - z * (17.0 / 315.0)));  // where 1 - e has few digits left
    h = select(size < 0.02, near, tanh / max4(size, splat(0.02)));
  }
  f64x4 value(f64x4 y, f64x4 raw) const {
    const f64x4 size = abs4(raw - y);
    return size + (log4(1.0 + exp4(-2.0 * size)) - 0.69314718055994531);
  }
};

struct Mape {
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const {
    h = 1.0 / abs4(y);
    g = select(raw > y, h, select(raw < y, -h, splat(0.0)));
  }
  f64x4 value(f64x4 y, f64x4 raw) const { return abs4(raw - y) / abs4(y); }
};

// Of one class, with probability p = 1 - q: loss = -q^gamma log p. The hessian is the second derivative without its negative part.
struct Focal {
  double gamma;
  struct Parts {
    f64x4 p, q, log_p, log_q, p_gamma, q_gamma;
  };
  Parts parts(f64x4 raw) const {
    const f64x4 e = exp4(-abs4(raw)), inverse = 1.0 / (1.0 + e), log_sum = log4(1.0 + e);
    const i64x4 positive = raw >= 0.0;
    Parts at;
    at.p = select(positive, inverse, e * inverse), at.q = select(positive, e * inverse, inverse);
    at.log_p = min4(raw, splat(0.0)) - log_sum, at.log_q = min4(-raw, splat(0.0)) - log_sum;
    at.p_gamma = exp4(gamma * at.log_p), at.q_gamma = exp4(gamma * at.log_q);
    return at;
  }
  void gradients(f64x4 y, f64x4 raw, f64x4& g, f64x4& h) const {
    const Parts at = parts(raw);
    auto slope = [&](f64x4 p, f64x4 q, f64x4 log_p, f64x4 q_gamma) { return q_gamma * (gamma * p * log_p - q); };
    auto curve = [&](f64x4 p, f64x4 q, f64x4 log_p, f64x4 q_gamma) {
      return p * q_gamma * ((2.0 * gamma + 1.0) * q + gamma * max4(log_p * (q - gamma * p), splat(0.0)));
    };
    g = y * slope(at.p, at.q, at.log_p, at.q_gamma) - (1.0 - y) * slope(at.q, at.p, at.log_q, at.p_gamma);
    h = y * curve(at.p, at.q, at.log_p, at.q_gamma) + (1.0 - y) * curve(at.q, at.p, at.log_q, at.p_gamma);
  }
  f64x4 value(f64x4 y, f64x4 raw) const {
    const Parts at = parts(raw);
    return -(y * at.q_gamma * at.log_p + (1.0 - y) * at.p_gamma * at.log_q);
  }
};

// Calls f(i, count, y, raw, weight) for each four rows; the last call may have fewer, padded with its own first row and weight 0.
template <class F>
inline void for_each_four(const Rows& rows, F&& f) {
  int64_t i = 0;
  const f64x4 one = splat(1.0);
  for (; i + 4 <= rows.n; i += 4) f(i, 4, load4(rows.y + i), load4(rows.raw + i), rows.weight ? load4(rows.weight + i) : one);
  if (i < rows.n) {
    double y[4], raw[4], weight[4];
    for (int k = 0; k < 4; ++k) {
      const bool real = i + k < rows.n;
      y[k] = rows.y[real ? i + k : i];
      raw[k] = rows.raw[real ? i + k : i];
      weight[k] = !real ? 0.0 : rows.weight ? rows.weight[i + k] : 1.0;
    }
    f(i, int(rows.n - i), load4(y), load4(raw), load4(weight));
  }
}

inline double largest(f64x4 v) {
  double m = v[0];
  for (int k = 1; k < 4; ++k) m = v[k] > m ? v[k] : m;
  return m;
}

inline int64_t total(i64x4 v) { return v[0] + v[1] + v[2] + v[3]; }

inline void store_fixed(Pair* out, int64_t i, int count, i64x4 g, i64x4 h) {
  const i64x4 words = (g & 0xffffffffLL) | (h << 32);  // a Pair, least significant part first
  if (count == 4) {
    std::memcpy(out + i, &words, sizeof words);
  } else {
    for (int k = 0; k < count; ++k) out[i + k] = Pair{int32_t(g[k]), uint32_t(h[k])};
  }
}

inline void store_fixed(Single* out, int64_t i, int count, i64x4 g, i64x4) {
  if (count == 4) {
    const i32x4 words = __builtin_convertvector(g, i32x4);
    std::memcpy(out + i, &words, sizeof words);
  } else {
    for (int k = 0; k < count; ++k) out[i + k] = Single{int32_t(g[k])};
  }
}

template <class Loss>
inline Extent loss_extent(Loss loss, const Rows& rows) {
  f64x4 top_g = splat(0.0), top_h = splat(0.0);
  i64x4 broken = {0, 0, 0, 0};
  for_each_four(rows, [&](int64_t, int, f64x4 y, f64x4 raw, f64x4 weight) {
    f64x4 g, h;
    loss.gradients(y, raw, g, h);
    g = abs4(g * weight), h = h * weight;
    broken |= (g != g) | (h != h);
    top_g = max4(g, top_g), top_h = max4(h, top_h);
  });
  const double nan = __builtin_nan("");
  return {total(broken) ? nan : largest(top_g), total(broken) ? nan : largest(top_h)};
}

template <class Loss, class Fixed>
inline GradientSums loss_fixed_gradients(Loss loss, const Rows& rows, double gradient_scale, double hessian_scale, Fixed* out) {
  i64x4 abs_g = {0, 0, 0, 0}, sum_g = abs_g, sum_h = abs_g;
  for_each_four(rows, [&](int64_t i, int count, f64x4 y, f64x4 raw, f64x4 weight) {
    f64x4 g, h;
    loss.gradients(y, raw, g, h);
    const i64x4 gi = to_int(g * weight * gradient_scale), hi = to_int(h * weight * hessian_scale);
    const i64x4 sign = gi < 0;
    abs_g += (gi ^ sign) - sign, sum_g += gi, sum_h += hi;
    store_fixed(out, i, count, gi, hi);
  });
  return {total(abs_g), total(sum_g), total(sum_h)};
}

template <class Loss>
inline void loss_values(Loss loss, const Rows& rows, double* out) {
  for_each_four(rows, [&](int64_t i, int count, f64x4 y, f64x4 raw, f64x4 weight) {
    const f64x4 value = loss.value(y, raw) * weight;
    if (count == 4) return store4(out + i, value);
    for (int k = 0; k < count; ++k) out[i + k] = value[k];
  });
}

template <class Loss>
inline void loss_gradients(Loss loss, const Rows& rows, double* gradient, double* hessian) {
  for_each_four(rows, [&](int64_t i, int count, f64x4 y, f64x4 raw, f64x4 weight) {
    f64x4 g, h;
    loss.gradients(y, raw, g, h);
    g = g * weight, h = h * weight;
    for (int k = 0; k < count; ++k) gradient[i + k] = g[k], hessian[i + k] = h[k];
  });
}

// A loss of the table, with its parameter if it has one.
struct AnyLoss {
  LossKind kind;
  double parameter;
};

template <class F>
inline auto with_loss(AnyLoss loss, F&& f) {
  switch (loss.kind) {
    case LossKind::kAbsolute: return f(Absolute{});
    case LossKind::kPoisson: return f(Poisson{});
    case LossKind::kGamma: return f(Gamma{});
    case LossKind::kLogistic: return f(Logistic{});
    case LossKind::kHuber: return f(Huber{loss.parameter});
    case LossKind::kQuantile: return f(Quantile{loss.parameter});
    case LossKind::kExpectile: return f(Expectile{loss.parameter});
    case LossKind::kTweedie: return f(Tweedie{loss.parameter});
    case LossKind::kLogCosh: return f(LogCosh{});
    case LossKind::kMape: return f(Mape{});
    case LossKind::kFocal: return f(Focal{loss.parameter});
    default: return f(Squared{});
  }
}

inline Extent extent_any(AnyLoss loss, const Rows& rows) {
  return with_loss(loss, [&](auto loss) { return loss_extent(loss, rows); });
}

inline GradientSums fixed_gradients_any(AnyLoss loss, const Rows& rows, double gradient_scale, double hessian_scale, int gradient_size,
                                        void* out) {
  return with_loss(loss, [&](auto loss) {
    return gradient_size == sizeof(Pair) ? loss_fixed_gradients(loss, rows, gradient_scale, hessian_scale, static_cast<Pair*>(out))
                                         : loss_fixed_gradients(loss, rows, gradient_scale, hessian_scale, static_cast<Single*>(out));
  });
}

inline void values_any(AnyLoss loss, const Rows& rows, double* out) {
  with_loss(loss, [&](auto loss) { loss_values(loss, rows, out); });
}

inline void gradients_any(AnyLoss loss, const Rows& rows, double* gradient, double* hessian) {
  with_loss(loss, [&](auto loss) { loss_gradients(loss, rows, gradient, hessian); });
}

// The loss of given gradients and hessians (of a loss written in NumPy): they are the rows' y and raw.
struct GivenGradients {
  void gradients(f64x4 gradient, f64x4 hessian, f64x4& g, f64x4& h) const { g = gradient, h = hessian; }
};

// Fixed-point numbers of given gradients and hessians; all hessians are one if they are null.
inline GradientSums fix_gradients(const double* g, const double* h, int64_t n, double gradient_scale, double hessian_scale,
                                  int gradient_size, void* out) {
  const Rows rows{g, h ? h : g, nullptr, n};
  if (gradient_size == sizeof(Pair))
    return loss_fixed_gradients(GivenGradients{}, rows, gradient_scale, hessian_scale, static_cast<Pair*>(out));
  GradientSums sums = loss_fixed_gradients(GivenGradients{}, rows, gradient_scale, 0.0, static_cast<Single*>(out));
  sums.hessian = n;
  return sums;
}

// exp(raw - max) of `count` rows for each class, into scratch (n_classes, 4). Returns the sum over classes; `top` gets the maximum.
inline f64x4 softmax_terms(const double* raw, int64_t plane, int n_classes, int64_t i, int count, double* scratch, f64x4& top) {
  auto load = [&](int k) {
    if (count == 4) return load4(raw + k * plane + i);
    f64x4 v;
    for (int j = 0; j < 4; ++j) v[j] = raw[k * plane + i + (j < count ? j : 0)];
    return v;
  };
  top = load(0);
  for (int k = 1; k < n_classes; ++k) top = max4(load(k), top);
  f64x4 sum = splat(0.0);
  for (int k = 0; k < n_classes; ++k) {
    const f64x4 e = exp4(load(k) - top);
    store4(scratch + 4 * k, e);
    sum += e;
  }
  return sum;
}

// Sums of four rows side by side: they are joined in the end.
struct FourSums {
  i64x4 abs_gradient = {0, 0, 0, 0}, gradient = abs_gradient, hessian = abs_gradient;
  GradientSums joined() const { return {total(abs_gradient), total(gradient), total(hessian)}; }
};

// Multiclass log-loss: one plane of fixed-point gradients for each class.
//   y        (n,) float64: class numbers             IN
//   raw      (n_classes, plane) float64              IN
//   out      (n_classes, plane) Pair                 OUT
//   sums     (n_classes,)                            OUT
//   scratch  (n_classes, 4) float64
inline void softmax_fixed_gradients(const double* y, const double* raw, const double* weight, int64_t n, int64_t plane, int n_classes,
                                    double gradient_scale, double hessian_scale, Pair* out, FourSums* sums, double* scratch) {
  for (int64_t i = 0; i < n; i += 4) {
    const int count = n - i < 4 ? int(n - i) : 4;
    f64x4 top;
    const f64x4 inverse = 1.0 / softmax_terms(raw, plane, n_classes, i, count, scratch, top);
    f64x4 target, w;
    for (int j = 0; j < 4; ++j) {
      target[j] = j < count ? y[i + j] : -1.0;
      w[j] = j >= count ? 0.0 : weight ? weight[i + j] : 1.0;
    }
    for (int k = 0; k < n_classes; ++k) {
      const f64x4 p = load4(scratch + 4 * k) * inverse;
      const f64x4 g = select(target == double(k), p - 1.0, p) * w, h = p * (1.0 - p) * w;
      const i64x4 gi = to_int(g * gradient_scale), hi = to_int(h * hessian_scale);
      const i64x4 sign = gi < 0;
      sums[k].abs_gradient += (gi ^ sign) - sign;
      sums[k].gradient += gi;
      sums[k].hessian += hi;
      store_fixed(out + k * plane, i, count, gi, hi);
    }
  }
}

inline void softmax_values(const double* y, const double* raw, const double* weight, int64_t n, int64_t plane, int n_classes, double* out,
                           double* scratch) {
  for (int64_t i = 0; i < n; i += 4) {
    const int count = n - i < 4 ? int(n - i) : 4;
    f64x4 top;
    const f64x4 sum = softmax_terms(raw, plane, n_classes, i, count, scratch, top);
    const f64x4 log_sum = log4(sum) + top;
    for (int j = 0; j < count; ++j) {
      const double value = log_sum[j] - raw[int64_t(y[i + j]) * plane + i + j];
      out[i + j] = weight ? value * weight[i + j] : value;
    }
  }
}

// Raw predictions to probabilities or means, in place: the inverse links.
inline void logistic_link(double* raw, int64_t n) {
  for (int64_t i = 0; i < n; i += 4) {
    const int count = n - i < 4 ? int(n - i) : 4;
    f64x4 x = splat(0.0);
    for (int k = 0; k < count; ++k) x[k] = raw[i + k];
    const f64x4 e = exp4(-abs4(x));
    const f64x4 inverse = 1.0 / (1.0 + e);
    const f64x4 p = select(x >= 0.0, inverse, e * inverse);
    for (int k = 0; k < count; ++k) raw[i + k] = p[k];
  }
}

inline void exp_link(double* raw, int64_t n) {
  for (int64_t i = 0; i < n; i += 4) {
    const int count = n - i < 4 ? int(n - i) : 4;
    f64x4 x = splat(0.0);
    for (int k = 0; k < count; ++k) x[k] = raw[i + k];
    x = exp4(x);
    for (int k = 0; k < count; ++k) raw[i + k] = x[k];
  }
}

// Rows of n_classes raw values each become probabilities.
inline void softmax_link(double* raw, int64_t n, int n_classes) {
  for (int64_t i = 0; i < n; ++i) {
    double* row = raw + i * n_classes;
    double top = row[0];
    for (int k = 1; k < n_classes; ++k) top = row[k] > top ? row[k] : top;
    double sum = 0;
    for (int k = 0; k < n_classes; k += 4) {
      const int count = n_classes - k < 4 ? n_classes - k : 4;
      f64x4 x = splat(0.0);
      for (int j = 0; j < count; ++j) x[j] = row[k + j] - top;
      x = exp4(x);
      for (int j = 0; j < count; ++j) sum += row[k + j] = x[j];
    }
    for (int k = 0; k < n_classes; ++k) row[k] /= sum;
  }
}

// raw[i] += values[leaves[i]]; false, and nothing done, where a leaf has no value.
template <class Leaf>
inline bool add_leaf_values_of(const void* leaves_, const double* values, int64_t n_values, int64_t n, double* raw) {
  auto* leaves = static_cast<const Leaf*>(leaves_);
  Leaf last = 0;
  for (int64_t i = 0; i < n; ++i) last = leaves[i] > last ? leaves[i] : last;
  if (n > 0 && int64_t(last) >= n_values) return false;
  for (int64_t i = 0; i < n; ++i) raw[i] += values[leaves[i]];
  return true;
}

inline bool add_leaf_values(const void* leaves, int leaf_size, const double* values, int64_t n_values, int64_t n, double* raw) {
  if (leaf_size == 1) return add_leaf_values_of<uint8_t>(leaves, values, n_values, n, raw);
  if (leaf_size == 2) return add_leaf_values_of<uint16_t>(leaves, values, n_values, n, raw);
  return add_leaf_values_of<uint32_t>(leaves, values, n_values, n, raw);
}

}  // namespace sapwood
