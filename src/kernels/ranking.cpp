#include "ranking.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "pool.hpp"

namespace sapwood {
namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr double kNear = 0.01;  // added to the distance of two scores: rows side by side must not count without limit

double log_of(double x) { return log4(splat(x))[0]; }

double sum4(f64x4 v) { return (v[0] + v[1]) + (v[2] + v[3]); }

// The first `count` lanes, zero in the others.
f64x4 first_lanes(f64x4 v, int64_t count) {
  const i64x4 lane = {0, 1, 2, 3};
  return select(lane < count, v, splat(0.0));
}

// Rows of one query in the order of their scores. Arrays have room for four more, so that whole vectors can be read at any rank.
struct Ranking {
  std::vector<uint32_t> order;
  std::vector<double> score, gain, gradient, hessian;
  std::vector<double> first, second, share;  // a swap of ranks i < j changes the measure by first[i] + share[i] * second[j]
  int64_t n = 0;

  void sort(const double* raw, const double* gains, int64_t size) {
    n = size;
    order.resize(n);
    for (int64_t i = 0; i < n; ++i) order[i] = uint32_t(i);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return raw[a] > raw[b] || (raw[a] == raw[b] && a < b); });
    for (auto* list : {&score, &gain, &gradient, &hessian, &first, &second, &share}) list->assign(n + 4, 0.0);
    for (int64_t i = 0; i < n; ++i) score[i] = raw[order[i]], gain[i] = gains[order[i]];
  }

  void weigh_ndcg(const double* discount) {
    for (int64_t i = 0; i < n; ++i) first[i] = discount[i], second[i] = -discount[i], share[i] = 1.0;
  }

  // With c relevant rows down to a rank and s the sum of 1 / rank over them: what moves up gains (its new c) / rank, what it passes
  // loses or gains 1 / rank each.
  void weigh_precision() {
    double c = 0, s = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double rank = double(i + 1), before = s;
      c += gain[i], s += gain[i] / rank;
      first[i] = (c + 1.0 - gain[i]) / rank - s, second[i] = before - c / rank, share[i] = 1.0;
    }
  }

  // Only the first relevant row counts, and the second one that takes its place.
  void weigh_first() {
    const auto begin = gain.begin(), end = gain.begin() + n;
    const auto found = std::find(begin, end, 1.0);
    if (found == end) return;
    const int64_t top = found - begin, next = std::find(found + 1, end, 1.0) - begin;
    const double at_top = 1.0 / double(top + 1), at_next = next < n ? 1.0 / double(next + 1) : 0.0;
    for (int64_t i = 0; i < top; ++i) first[i] = 1.0 / double(i + 1) - at_top;
    first[top] = at_top, share[top] = 1.0;
    for (int64_t j = top + 1; j < n; ++j) second[j] = -std::max(1.0 / double(j + 1), at_next);
  }

  void weigh_equal() { std::fill(first.begin(), first.begin() + n, 1.0); }
};

// Adds the gradients of all pairs (i, j > i) of ranks to both. Returns the sum of their sizes.
//   kGap  pairs count by the gap of their gains; else those with different gains count the same
template <bool kGap, bool kNear_>
double add_pairs(Ranking& q, int64_t n_first, double unit, double steepness) {
  f64x4 sizes = splat(0.0);
  for (int64_t i = 0; i < n_first; ++i) {
    const f64x4 gain_i = splat(q.gain[i]), score_i = splat(q.score[i]), first_i = splat(q.first[i] * unit),
                share_i = splat(q.share[i] * unit);
    f64x4 g_i = splat(0.0), h_i = splat(0.0);
    for (int64_t j = i + 1; j < q.n; j += 4) {
      const f64x4 gap = gain_i - load4(&q.gain[j]);
      const i64x4 differs = gap != 0.0;
      if (!(differs[0] | differs[1] | differs[2] | differs[3])) continue;
      f64x4 change = first_i + share_i * load4(&q.second[j]);
      change = kGap ? abs4(gap) * change : select(differs, change, splat(0.0));
      if (q.n - j < 4) change = first_lanes(change, q.n - j);
      const f64x4 distance = score_i - load4(&q.score[j]);  // not negative: ranks are sorted by score
      const f64x4 e = exp4(-steepness * distance);
      const f64x4 near = kNear_ ? kNear + distance : splat(1.0);
      const f64x4 inverse = 1.0 / ((1.0 + e) * near);
      const f64x4 half = steepness * change * inverse;
      const i64x4 in_order = gap > 0.0;
      const f64x4 size = half * select(in_order, e, splat(1.0));
      const f64x4 h = half * (steepness * e) * (inverse * near);
      const f64x4 g = select(in_order, size, -size);
      store4(&q.gradient[j], load4(&q.gradient[j]) + g);
      store4(&q.hessian[j], load4(&q.hessian[j]) + h);
      g_i -= g, h_i += h, sizes += size;
    }
    q.gradient[i] += sum4(g_i), q.hessian[i] += sum4(h_i);
  }
  return 2.0 * sum4(sizes);
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

double dcg(const Ranking& q, const double* discount, int64_t last_rank) {
  double sum = 0;
  for (int64_t i = 0; i < std::min(q.n, last_rank);) {
    double gains = 0, discounts = 0;
    int64_t j = i;
    for (; j < q.n && q.score[j] == q.score[i]; ++j) gains += q.gain[j], discounts += j < last_rank ? discount[j] : 0.0;
    sum += gains / double(j - i) * discounts;
    i = j;
  }
  return sum;
}

double average_precision(const Ranking& q, int64_t last_rank) {
  double hits = 0, sum = 0, relevant = 0;
  for (int64_t i = 0; i < q.n; ++i) relevant += q.gain[i] > 0;
  if (relevant == 0) return 0.0;
  for (int64_t i = 0; i < std::min(q.n, last_rank); ++i) {
    if (q.gain[i] > 0) sum += ++hits / double(i + 1);
  }
  return sum / std::min(relevant, double(last_rank));
}

double reciprocal_rank(const Ranking& q, int64_t last_rank) {
  for (int64_t i = 0; i < std::min(q.n, last_rank); ++i) {
    if (q.gain[i] > 0) return 1.0 / double(i + 1);
  }
  return 0.0;
}

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
    q.sort(rows.raw + begin, rows.gain + begin, n);
    switch (rule.measure) {
      case RankMeasure::kNdcg: q.weigh_ndcg(discount.data()); break;
      case RankMeasure::kMap: q.weigh_precision(); break;
      case RankMeasure::kMrr: q.weigh_first(); break;
      case RankMeasure::kPairwise: q.weigh_equal(); break;
    }
    const bool near = rule.normalize && q.score[0] != q.score[n - 1];
    auto* add = rule.measure == RankMeasure::kPairwise ? near ? add_pairs<false, true> : add_pairs<false, false>
                : near                                 ? add_pairs<true, true>
                                                       : add_pairs<true, false>;
    const double sum = add(q, std::min(n - 1, rule.truncation), rows.unit[query], rule.steepness);
    const double factor = rule.normalize && sum > 0 ? log_of(1.0 + sum) / (kLn2 * sum) : 1.0;
    for (int64_t i = 0; i < n; ++i) g[q.order[i]] = q.gradient[i] * factor, h[q.order[i]] = q.hessian[i] * factor;
    finish(rows, begin, n, g, h, largest);
  });
  return largest.extent;
}

void pair_values(const RankedRows& rows, double steepness, int n_threads, double* out) {
  over_queries<Ranking>(rows, n_threads, [&](int64_t query, Ranking& q) {
    const int64_t begin = rows.begin[query], n = rows.begin[query + 1] - begin;
    q.sort(rows.raw + begin, rows.gain + begin, n);
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
    std::vector<double> share, term;
  };
  Largest largest;
  over_queries<Scratch>(rows, n_threads, [&](int64_t query, Scratch& scratch) {
    const int64_t begin = rows.begin[query], n = rows.begin[query + 1] - begin;
    double *g = gradient + begin, *h = hessian + begin, top;
    const double* gain = rows.gain + begin;
    const double sum = softmax_of(rows.raw + begin, n, scratch.share, top);
    double gains = 0;
    for (int64_t i = 0; i < n; ++i) gains += gain[i];
    auto& p = scratch.share;
    auto& term = scratch.term;
    term.assign(n, 0.0);
    // Each term is the one before, carried to the other rows by their shares.
    double carried = 0;
    for (int64_t i = 0; i < n; ++i) {
      p[i] = std::min(p[i] / sum, 1.0 - 1e-15);  // a share of one would leave nothing to divide by
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
  over_queries<Ranking>(rows, n_threads, [&](int64_t query, Ranking& q) {
    const int64_t begin = rows.begin[query], n = rows.begin[query + 1] - begin;
    q.sort(rows.raw + begin, rows.gain + begin, n);
    if (measure == RankMeasure::kNdcg) {
      out[query] = dcg(q, discount.data(), last_rank);
      return;
    }
    for (int64_t i = 0; i < n;) {
      int64_t j = i;
      while (j < n && q.score[j] == q.score[i]) ++j;
      std::sort(&q.gain[i], &q.gain[i] + (j - i));
      i = j;
    }
    out[query] = measure == RankMeasure::kMap ? average_precision(q, last_rank) : reciprocal_rank(q, last_rank);
  });
}

}  // namespace sapwood
