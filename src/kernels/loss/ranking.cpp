#include "loss/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "core/pool.hpp"

namespace sapwood {
namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr float kNear = 0.01f;  // added to the distance of two scores: rows side by side must not count without limit

double log_of(double x) { return log4(splat(x))[0]; }

double sum4(f64x4 v) { return (v[0] + v[1]) + (v[2] + v[3]); }

// The first `count` lanes, zero in the others.
f64x4 first_lanes(f64x4 v, int64_t count) {
  const i64x4 lane = {0, 1, 2, 3};
  return select(lane < count, v, splat(0.0));
}

// The places of up to kFewRows rows in descending order of their scores, ties in their own order: by counting, for each four rows, those
// that come before. For so few it is faster than sorting, whose branches are not predictable.
constexpr int64_t kFewRows = 256;

void order_few(const double* raw, int64_t n, uint32_t* order) {
  double padded[kFewRows];
  std::copy(raw, raw + n, padded);
  std::fill(padded + n, padded + (n + 3) / 4 * 4, 0.0);
  for (int64_t i = 0; i < n; i += 4) {
    const f64x4 mine = load4(padded + i);
    i64x4 before = {0, 0, 0, 0}, more = before;
    for (int64_t j = 0; j < i; ++j) before -= splat(padded[j]) >= mine;
    const int64_t end = std::min(n, i + 4);
    for (int64_t j = end; j < n; ++j) more -= splat(padded[j]) > mine;
    before += more;
    for (int64_t k = i; k < end; ++k) {
      int64_t place = before[k - i];
      for (int64_t j = i; j < end; ++j) place += padded[j] > padded[k] || (padded[j] == padded[k] && j < k);
      order[place] = uint32_t(k);
    }
  }
}

// Rows of one query in the order of their scores.
struct Order {
  std::vector<uint32_t> rows;
  int64_t n = 0;

  void sort(const double* raw, int64_t size) {
    n = size;
    rows.resize(n);
    if (n <= kFewRows) return order_few(raw, n, rows.data());
    for (int64_t i = 0; i < n; ++i) rows[i] = uint32_t(i);
    std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return raw[a] > raw[b] || (raw[a] == raw[b] && a < b); });
  }
};

// The same with what pairs of ranks need. Arrays have room for eight more, so that whole vectors can be read at any rank. Floats are
// enough: what a pair is worth is a heuristic anyway, and they are twice as fast.
struct Ranking : Order {
  std::vector<float> behind, gain, gradient, hessian;  // behind: by how much the first row's score is higher
  std::vector<float> first, second, factor;            // a swap of ranks i < j changes the measure by first[i] + factor[i] * second[j]
  bool tied = false;                                   // all scores are equal

  void fill(const double* raw, const double* gains, int64_t size) {
    sort(raw, size);
    for (auto* list : {&behind, &gain, &gradient, &hessian, &first, &second, &factor}) list->assign(n + 8, 0.0f);
    const double top = raw[rows[0]];
    for (int64_t i = 0; i < n; ++i) behind[i] = float(std::min(top - raw[rows[i]], 1e30)), gain[i] = float(gains[rows[i]]);
    std::fill(behind.begin() + n, behind.end(), behind[n - 1]);  // so that no distance, even to what is not there, is negative
    tied = top == raw[rows[n - 1]];
  }

  void weigh_ndcg(const double* discount) {
    for (int64_t i = 0; i < n; ++i) first[i] = float(discount[i]), second[i] = -float(discount[i]), factor[i] = 1.0f;
  }

  // With c relevant rows down to a rank and s the sum of 1 / rank over them: what moves up gains (its new c) / rank, what it passes
  // loses or gains 1 / rank each.
  void weigh_precision() {
    double c = 0, s = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double rank = double(i + 1), before = s;
      c += gain[i], s += gain[i] / rank;
      first[i] = float((c + 1.0 - gain[i]) / rank - s), second[i] = float(before - c / rank), factor[i] = 1.0f;
    }
  }

  // Only the first relevant row counts, and the second one that takes its place.
  void weigh_first() {
    const auto begin = gain.begin(), end = gain.begin() + n;
    const auto found = std::find(begin, end, 1.0f);
    if (found == end) return;
    const int64_t top = found - begin, next = std::find(found + 1, end, 1.0f) - begin;
    const double at_top = 1.0 / double(top + 1), at_next = next < n ? 1.0 / double(next + 1) : 0.0;
    for (int64_t i = 0; i < top; ++i) first[i] = float(1.0 / double(i + 1) - at_top);
    first[top] = float(at_top), factor[top] = 1.0f;
    for (int64_t j = top + 1; j < n; ++j) second[j] = -float(std::max(1.0 / double(j + 1), at_next));
  }

  void weigh_equal() { std::fill(first.begin(), first.begin() + n, 1.0f); }
};

float sum8(f32x8 v) { return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])); }

bool any8(i32x8 v) {
  const i64x4 w = (i64x4)v;
  return (w[0] | w[1]) | (w[2] | w[3]);
}

// Adds the gradients of all pairs (i, j > i) of ranks to both. Returns the sum of their sizes.
//   kGap       pairs count by the gap of their gains; else those with different gains count the same
//   kDistance  pairs count less the further apart their scores are
template <bool kGap, bool kDistance>
double add_pairs(Ranking& q, int64_t n_first, double unit, float steepness) {
  const f32x8 zero = splat8(0.0f), one = splat8(1.0f);
  const i32x8 lane = {0, 1, 2, 3, 4, 5, 6, 7};
  double sizes = 0;
  for (int64_t i = 0; i < n_first; ++i) {
    const f32x8 gain_i = splat8(q.gain[i]), behind_i = splat8(q.behind[i]);
    const f32x8 first_i = splat8(float(q.first[i] * unit)), factor_i = splat8(float(q.factor[i] * unit));
    f32x8 g_i = zero, h_i = zero, size_i = zero;
    for (int64_t j = i + 1; j < q.n; j += 8) {
      const f32x8 gap = gain_i - load8(&q.gain[j]);
      if (!any8(gap != 0.0f)) continue;
      f32x8 change = first_i + factor_i * load8(&q.second[j]);
      change = select8(change > 0.0f, change, zero);  // rounding must not make a hessian negative
      change = kGap ? abs8(gap) * change : select8(gap != 0.0f, change, zero);
      if (q.n - j < 8) change = select8(lane < int32_t(q.n - j), change, zero);
      const f32x8 distance = load8(&q.behind[j]) - behind_i;  // not negative: ranks are sorted by score
      const f32x8 e = exp8(-steepness * distance);
      const f32x8 far = kDistance ? kNear + distance : one;
      const f32x8 inverse = 1.0f / ((1.0f + e) * far);
      const f32x8 half = steepness * change * inverse;
      const i32x8 in_order = gap > 0.0f;
      const f32x8 size = half * select8(in_order, e, one);
      const f32x8 h = half * (steepness * e) * (inverse * far);
      const f32x8 g = select8(in_order, size, -size);
      store8(&q.gradient[j], load8(&q.gradient[j]) + g);
      store8(&q.hessian[j], load8(&q.hessian[j]) + h);
      g_i -= g, h_i += h, size_i += size;
    }
    q.gradient[i] += sum8(g_i), q.hessian[i] += sum8(h_i), sizes += sum8(size_i);
  }
  return 2.0 * sizes;
}

// Calls f(query, scratch) for each query, on several threads; scratch is the thread's own.
template <class Scratch, class F>
void over_queries(const RankedRows& rows, int n_threads, F&& f) {
  const int64_t n_rows = rows.n_queries ? rows.begin[rows.n_queries] : 0;
  parallel(n_rows < 1024 ? 1 : n_threads, rows.n_queries, [&](int, Tasks& tasks) {
    Scratch scratch;
    for (int64_t query; (query = tasks.claim()) >= 0;) f(query, scratch);
  });
}

int64_t longest(const RankedRows& rows) {
  int64_t most = 0;
  for (int64_t q = 0; q < rows.n_queries; ++q) most = std::max(most, rows.begin[q + 1] - rows.begin[q]);
  return most;
}

// A thread's part of the largest gradient and hessian, joined when it is done.
struct Largest {
  std::mutex joining;
  Extent extent;

  void join(const double* g, const double* h, int64_t n) {
    Extent part;
    bool broken = false;
    for (int64_t i = 0; i < n; ++i) {
      broken |= g[i] != g[i];
      part.gradient = std::max(part.gradient, std::fabs(g[i])), part.hessian = std::max(part.hessian, h[i]);
    }
    if (broken) part.gradient = part.hessian = HUGE_VAL;
    std::lock_guard<std::mutex> guard(joining);
    extent = {std::max(extent.gradient, part.gradient), std::max(extent.hessian, part.hessian)};
  }
};

// Weights a query's gradients and notes the largest.
void finish(const RankedRows& rows, int64_t begin, int64_t n, double* g, double* h, Largest& largest) {
  if (rows.weight) {
    for (int64_t i = 0; i < n; ++i) g[i] *= rows.weight[begin + i], h[i] *= rows.weight[begin + i];
  }
  largest.join(g, h, n);
}

// exp(raw - max) of a query's rows; returns their sum, `top` gets the maximum.
double softmax_of(const double* raw, int64_t n, std::vector<double>& terms, double& top) {
  top = *std::max_element(raw, raw + n);
  terms.assign(n + 4, 0.0);
  for (int64_t i = 0; i < n; ++i) terms[i] = raw[i] - top;
  f64x4 sum = splat(0.0);
  for (int64_t i = 0; i < n; i += 4) {
    f64x4 e = exp4(load4(&terms[i]));
    if (n - i < 4) e = first_lanes(e, n - i);
    store4(&terms[i], e);
    sum += e;
  }
  return sum4(sum);
}

// Gains and scores of one query in the order of the scores.
struct Sorted : Order {
  std::vector<double> score, gain;

  void fill(const double* raw, const double* gains, int64_t size) {
    sort(raw, size);
    score.resize(n), gain.resize(n);
    for (int64_t i = 0; i < n; ++i) score[i] = raw[rows[i]], gain[i] = gains[rows[i]];
  }

  // Past the rows whose scores are that of rank i.
  int64_t end_of_ties(int64_t i) const {
    int64_t j = i + 1;
    while (j < n && score[j] == score[i]) ++j;
    return j;
  }

  double dcg(const double* discount, int64_t last_rank) const {
    double sum = 0;
    for (int64_t i = 0, end; i < std::min(n, last_rank); i = end) {
      end = end_of_ties(i);
      double gains = 0, discounts = 0;
      for (int64_t j = i; j < end; ++j) gains += gain[j], discounts += j < last_rank ? discount[j] : 0.0;
      sum += gains / double(end - i) * discounts;
    }
    return sum;
  }

  // Of rows with the same score those that gain less come first.
  void worst_ties() {
    for (int64_t i = 0, end; i < n; i = end) {
      end = end_of_ties(i);
      std::sort(gain.begin() + i, gain.begin() + end);
    }
  }

  double average_precision(int64_t last_rank) const {
    double hits = 0, sum = 0, relevant = 0;
    for (int64_t i = 0; i < n; ++i) relevant += gain[i] > 0;
    if (relevant == 0) return 0.0;
    for (int64_t i = 0; i < std::min(n, last_rank); ++i) {
      if (gain[i] > 0) sum += ++hits / double(i + 1);
    }
    return sum / std::min(relevant, double(last_rank));
  }

  double reciprocal_rank(int64_t last_rank) const {
    for (int64_t i = 0; i < std::min(n, last_rank); ++i) {
      if (gain[i] > 0) return 1.0 / double(i + 1);
    }
    return 0.0;
  }
};

}  // namespace

void rank_discounts(int64_t n, double* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = kLn2 / log_of(double(i + 2));
}

Extent pair_gradients(const RankedRows& rows, const PairRule& rule, int n_threads, double* gradient, double* hessian) {
  std::vector<double> discount(longest(rows));
  if (rule.measure == RankMeasure::kNdcg) rank_discounts(int64_t(discount.size()), discount.data());
  Largest largest;
  over_queries<Ranking>(rows, n_threads, [&](int64_t query, Ranking& q) {
    const int64_t begin = rows.begin[query], n = rows.begin[query + 1] - begin;
    double *g = gradient + begin, *h = hessian + begin;
    std::fill(g, g + n, 0.0), std::fill(h, h + n, 0.0);
    if (rows.unit[query] == 0.0) return;  // no two rows differ
    q.fill(rows.raw + begin, rows.gain + begin, n);
    switch (rule.measure) {
      case RankMeasure::kNdcg: q.weigh_ndcg(discount.data()); break;
      case RankMeasure::kMap: q.weigh_precision(); break;
      case RankMeasure::kMrr: q.weigh_first(); break;
      case RankMeasure::kPairwise: q.weigh_equal(); break;
    }
    const bool distance = rule.normalize && !q.tied;
    auto* add = rule.measure == RankMeasure::kPairwise ? distance ? add_pairs<false, true> : add_pairs<false, false>
                : distance                             ? add_pairs<true, true>
                                                       : add_pairs<true, false>;
    const double sum = add(q, std::min(n - 1, rule.truncation), rows.unit[query], float(rule.steepness));
    const double factor = rule.normalize && sum > 0 ? log_of(1.0 + sum) / (kLn2 * sum) : 1.0;
    for (int64_t i = 0; i < n; ++i) g[q.rows[i]] = q.gradient[i] * factor, h[q.rows[i]] = q.hessian[i] * factor;
    finish(rows, begin, n, g, h, largest);
  });
  return largest.extent;
}

void pair_values(const RankedRows& rows, double steepness, int n_threads, double* out) {
  over_queries<Sorted>(rows, n_threads, [&](int64_t query, Sorted& q) {
    const int64_t begin = rows.begin[query], n = rows.begin[query + 1] - begin;
    q.fill(rows.raw + begin, rows.gain + begin, n);
    q.score.resize(n + 4), q.gain.resize(n + 4);
    f64x4 sum = splat(0.0);
    for (int64_t i = 0; i + 1 < n; ++i) {
      for (int64_t j = i + 1; j < n; j += 4) {
        const f64x4 gap = q.gain[i] - load4(&q.gain[j]), distance = steepness * (q.score[i] - load4(&q.score[j]));
        f64x4 value = log4(1.0 + exp4(-distance)) + select(gap > 0.0, splat(0.0), distance);
        value = select(gap != 0.0, value, splat(0.0));
        sum += n - j < 4 ? first_lanes(value, n - j) : value;
      }
    }
    out[query] = sum4(sum) * rows.unit[query];
  });
}

Extent listwise_gradients(const RankedRows& rows, int n_threads, double* gradient, double* hessian) {
  struct Scratch {
    std::vector<double> probability, term;
  };
  Largest largest;
  over_queries<Scratch>(rows, n_threads, [&](int64_t query, Scratch& scratch) {
    const int64_t begin = rows.begin[query], n = rows.begin[query + 1] - begin;
    double *g = gradient + begin, *h = hessian + begin, top;
    const double* gain = rows.gain + begin;
    const double sum = softmax_of(rows.raw + begin, n, scratch.probability, top);
    double gains = 0;
    for (int64_t i = 0; i < n; ++i) gains += gain[i];
    auto& p = scratch.probability;
    auto& term = scratch.term;
    term.assign(n, 0.0);
    // Each term is the one before, carried to the other rows by their probabilities.
    double carried = 0;
    for (int64_t i = 0; i < n; ++i) {
      p[i] = std::min(p[i] / sum, 1.0 - 1e-15);  // 1 - p is divided by
      g[i] = p[i] - (gains > 0 ? gain[i] / gains : 0.0);
      h[i] = p[i] * (1.0 - p[i]);
      term[i] = g[i] / (1.0 - p[i]);
      carried += term[i];
    }
    for (int order = 2; order <= 3; ++order) {
      double next = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double more = p[i] * (carried - term[i]);
        g[i] += more;
        term[i] = more / (1.0 - p[i]);
        next += term[i];
      }
      carried = next;
    }
    if (n == 1 || gains <= 0) std::fill(g, g + n, 0.0), std::fill(h, h + n, 0.0);  // one row is in order, whatever its score
    finish(rows, begin, n, g, h, largest);
  });
  return largest.extent;
}

void listwise_values(const RankedRows& rows, int n_threads, double* out) {
  over_queries<std::vector<double>>(rows, n_threads, [&](int64_t query, std::vector<double>& terms) {
    const int64_t begin = rows.begin[query], n = rows.begin[query + 1] - begin;
    double top, gains = 0, dot = 0;
    const double log_sum = log_of(softmax_of(rows.raw + begin, n, terms, top));
    for (int64_t i = 0; i < n; ++i) gains += rows.gain[begin + i], dot += rows.gain[begin + i] * (rows.raw[begin + i] - top);
    out[query] = gains > 0 ? (log_sum - dot / gains) * rows.unit[query] : 0.0;
  });
}

void rank_values(const RankedRows& rows, RankMeasure measure, int64_t last_rank, int n_threads, double* out) {
  std::vector<double> discount(longest(rows));
  rank_discounts(int64_t(discount.size()), discount.data());
  over_queries<Sorted>(rows, n_threads, [&](int64_t query, Sorted& q) {
    const int64_t begin = rows.begin[query];
    q.fill(rows.raw + begin, rows.gain + begin, rows.begin[query + 1] - begin);
    if (measure == RankMeasure::kNdcg) {
      out[query] = q.dcg(discount.data(), last_rank);
    } else {
      q.worst_ties();
      out[query] = measure == RankMeasure::kMap ? q.average_precision(last_rank) : q.reciprocal_rank(last_rank);
    }
  });
}

}  // namespace sapwood
