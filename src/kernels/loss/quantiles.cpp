#include "loss/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <utility>

#include "bins/binning.hpp"
#include "core/pool.hpp"

namespace sapwood {
namespace {

// Numbers as integers of the same order, of 32 bits for float32 and of 64 for the rest.
template <class Number, class Key>
inline Key to_key(Number x) {
  constexpr Key kSign = Key(1) << (8 * sizeof(Key) - 1);
  Key bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits & kSign ? ~bits : bits | kSign;
}

template <class Number, class Key>
inline Number from_key(Key key) {
  constexpr Key kSign = Key(1) << (8 * sizeof(Key) - 1);
  const Key bits = key & kSign ? key & ~kSign : ~key;
  Number x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Memory for sorting one column after the other.
template <class Key>
struct SortMemory {
  std::vector<Key> keys, other;
  std::vector<std::pair<Key, int64_t>> pairs;  // keys and weights
  Distinct distinct;

  // Makes room for columns of n rows. Memory that a thread of the pool asks for would stay with that thread.
  void reserve(int64_t n, bool weighted) {
    if (weighted) {
      pairs.reserve(n);
    } else {
      keys.reserve(n);
      other.reserve(n);
    }
    distinct.values.reserve(n);
    distinct.weights.reserve(n);
  }
};

// Sorts keys digit by digit; digits that are equal in all keys are skipped.
template <class Key>
void sort_keys(std::vector<Key>& keys, std::vector<Key>& other) {
  constexpr int kBits = 11, kDigits = (8 * sizeof(Key) + kBits - 1) / kBits;
  constexpr Key kMask = (1u << kBits) - 1;
  if (keys.size() < 4096) return std::sort(keys.begin(), keys.end());
  std::vector<uint32_t> counts(kDigits << kBits);
  for (Key key : keys) {
    for (int d = 0; d < kDigits; ++d) ++counts[(d << kBits) + ((key >> (d * kBits)) & kMask)];
  }
  other.resize(keys.size());
  for (int d = 0; d < kDigits; ++d) {
    uint32_t* count = counts.data() + (d << kBits);
    if (count[(keys[0] >> (d * kBits)) & kMask] == keys.size()) continue;
    uint32_t at = 0;
    for (int i = 0; i < 1 << kBits; ++i) at += std::exchange(count[i], at);
    for (Key key : keys) other[count[(key >> (d * kBits)) & kMask]++] = key;
    keys.swap(other);
  }
}

double halfway(double a, double b) {
  double middle = a / 2 + b / 2;
  if (!(middle >= a)) middle = a;
  return middle < b ? middle : a;  // b itself must stay above the cut
}

// The distinct values among n at x, and their weights: `weight_of(i)` or, if `weighted` is false, one each.
template <class Number, class Key, bool weighted, class T, class WeightOf>
Distinct& distinct_of(const T* x, int64_t stride, int64_t n, int shift, WeightOf&& weight_of, SortMemory<Key>& memory) {
  Distinct& out = memory.distinct;
  out.values.clear();
  out.weights.clear();
  __int128 sum = 0;
  auto close = [&] {
    if (!out.values.empty()) out.weights.push_back(std::ldexp(double(sum), -shift));
    sum = 0;
  };
  auto add = [&](Key key, int64_t w) {
    const double value = double(from_key<Number>(key));
    if (out.values.empty() || out.values.back() != value) {
      close();
      out.values.push_back(value);
    }
    sum += w;
  };
  auto key_of = [](Number value) { return to_key<Number, Key>(value == 0 ? Number(0) : value); };  // -0 is 0
  if constexpr (weighted) {
    auto& pairs = memory.pairs;
    pairs.clear();
    pairs.reserve(n);
    for (int64_t i = 0; i < n; ++i) {
      const Number value = Number(x[i * stride]);
      if (value == value && weight_of(i) > 0) pairs.emplace_back(key_of(value), weight_of(i));
    }
    std::sort(pairs.begin(), pairs.end());
    for (auto [key, w] : pairs) add(key, w);
  } else {
    auto& keys = memory.keys;
    keys.clear();
    keys.reserve(n);
    for (int64_t i = 0; i < n; ++i) {
      const Number value = Number(x[i * stride]);
      if (value == value) keys.push_back(key_of(value));
    }
    if (!std::is_sorted(keys.begin(), keys.end())) sort_keys(keys, memory.other);  // most sparse columns hold one value
    for (size_t i = 0, end; i < keys.size(); i = end) {
      for (end = i + 1; end < keys.size() && keys[end] == keys[i];) ++end;
      add(keys[i], int64_t(end - i));
    }
  }
  close();
  return out;
}

}  // namespace

FixedWeights::FixedWeights(const double* weight, int64_t n) : values(n) {
  double top = 0;
  for (int64_t i = 0; i < n; ++i) top = std::max(top, weight[i]);
  if (top == 0) return;
  shift = 61 - std::ilogb(top);
  for (int64_t i = 0; i < n; ++i) total += values[i] = std::llrint(std::ldexp(weight[i], shift));
}

namespace {

// Calls f with a number and a key type that hold all values of T.
template <class T, class F>
auto with_key(F&& f) {
  if constexpr (std::is_same_v<T, float>) {
    return f(float{}, uint32_t{});
  } else {
    return f(double{}, uint64_t{});
  }
}

}  // namespace

namespace {

// The distinct values of a column of a sparse table.
Distinct distinct_entries(const SparseMatrix& columns, int64_t column, const FixedWeights* weights) {
  const int64_t first = columns.indptr[column], n = columns.indptr[column + 1] - first;
  const int shift = weights ? weights->shift : 0;
  __int128 absent = weights ? weights->total : columns.n_minor;
  auto weight_of = [&](int64_t i) -> int64_t { return weights ? weights->values[columns.indices[first + i]] : 1; };
  for (int64_t i = 0; i < n; ++i) absent -= weight_of(i);
  Distinct out;
  with_number(columns.type, [&](auto zero) {
    using T = decltype(zero);
    auto* x = static_cast<const T*>(columns.values) + first;
    out = with_key<T>([&](auto number, auto key) {
      using Number = decltype(number);
      using Key = decltype(key);
      SortMemory<Key> memory;
      if (!weights) return std::move(distinct_of<Number, Key, false>(x, 1, n, 0, weight_of, memory));
      return std::move(distinct_of<Number, Key, true>(x, 1, n, shift, weight_of, memory));
    });
    if (absent <= 0 || columns.absent_missing) return;
    const size_t at = std::lower_bound(out.values.begin(), out.values.end(), 0.0) - out.values.begin();
    if (at == out.values.size() || out.values[at] != 0) {
      out.values.insert(out.values.begin() + at, 0.0);
      out.weights.insert(out.weights.begin() + at, 0.0);
    } else {  // entries that are zero
      for (int64_t i = 0; i < n; ++i) absent += x[i] == 0 ? weight_of(i) : 0;
    }
    out.weights[at] = std::ldexp(double(absent), -shift);
  });
  return out;
}

}  // namespace

std::vector<std::vector<double>> find_cuts(const SparseMatrix& columns, const double* weight, const int32_t* max_bins, int n_threads) {
  std::vector<std::vector<double>> cuts(columns.n_major);
  const FixedWeights weights = weight ? FixedWeights(weight, columns.n_minor) : FixedWeights();
  parallel(n_threads, columns.n_major, [&](int, Tasks& tasks) {
    for (int64_t f; (f = tasks.claim()) >= 0;) {
      cuts[f] = cut_points(distinct_entries(columns, f, weight ? &weights : nullptr), max_bins[f]);
    }
  });
  return cuts;
}

namespace {

// Sorts (key, row) by key, rows of a key in order.
template <class Key>
void sort_pairs(std::vector<std::pair<Key, uint32_t>>& pairs) {
  constexpr int kBits = 11, kDigits = (8 * sizeof(Key) + kBits - 1) / kBits;
  constexpr Key kMask = (1u << kBits) - 1;
  std::vector<uint32_t> counts(kDigits << kBits);
  for (auto [key, row] : pairs) {
    for (int d = 0; d < kDigits; ++d) ++counts[(d << kBits) + ((key >> (d * kBits)) & kMask)];
  }
  std::vector<std::pair<Key, uint32_t>> other(pairs.size());
  for (int d = 0; d < kDigits && !pairs.empty(); ++d) {
    uint32_t* count = counts.data() + (d << kBits);
    if (count[(pairs[0].first >> (d * kBits)) & kMask] == pairs.size()) continue;
    uint32_t at = 0;
    for (int i = 0; i < 1 << kBits; ++i) at += std::exchange(count[i], at);
    for (const auto& pair : pairs) other[count[(pair.first >> (d * kBits)) & kMask]++] = pair;
    pairs.swap(other);
  }
}

template <class Number, class Key, class T>
SortedColumn sort_column(const T* x, int64_t stride, int64_t n) {
  std::vector<std::pair<Key, uint32_t>> pairs;
  std::vector<uint32_t> missing;
  pairs.reserve(n);
  for (int64_t i = 0; i < n; ++i) {
    const Number value = Number(x[i * stride]);
    if (value == value) {
      pairs.emplace_back(to_key<Number, Key>(value == 0 ? Number(0) : value), uint32_t(i));  // -0 is 0
    } else {
      missing.push_back(uint32_t(i));
    }
  }
  sort_pairs(pairs);
  SortedColumn out;
  out.rows.reserve(n);
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i == 0 || pairs[i].first != pairs[i - 1].first) out.values.push_back(double(from_key<Number>(pairs[i].first)));
    out.rows.push_back({pairs[i].second, uint32_t(out.values.size() - 1)});
  }
  for (uint32_t row : missing) out.rows.push_back({row, kMissingRank});
  return out;
}

}  // namespace

std::vector<SortedColumn> sort_columns(const Table& table, int n_threads) {
  std::vector<SortedColumn> columns(table.n_columns);
  parallel(n_threads, table.n_columns, [&](int, Tasks& tasks) {
    for (int64_t f; (f = tasks.claim()) >= 0;) {
      with_number(table.type, [&](auto zero) {
        using T = decltype(zero);
        auto* x = static_cast<const T*>(table.data) + f * table.column_stride;
        if constexpr (std::is_same_v<T, float>) {
          columns[f] = sort_column<float, uint32_t>(x, table.row_stride, table.n_rows);
        } else {
          columns[f] = sort_column<double, uint64_t>(x, table.row_stride, table.n_rows);
        }
      });
    }
  });
  return columns;
}

std::vector<std::vector<double>> find_cuts(const Table& table, const uint32_t* rows, int64_t n, const double* weight, int max_bins,
                                           int n_threads) {
  std::vector<std::vector<double>> cuts(table.n_columns);
  with_number(table.type, [&](auto zero) {
    using T = decltype(zero);
    // The chosen rows, by column: each row of the table is visited once.
    auto* x = static_cast<const T*>(table.data);
    std::vector<T> chosen(size_t(n) * table.n_columns);
    std::vector<double> chosen_weight(weight ? n : 0);
    constexpr int64_t kRows = 4096;
    parallel(n_threads, (n + kRows - 1) / kRows, [&](int, Tasks& tasks) {
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        for (int64_t i = task * kRows; i < std::min(n, (task + 1) * kRows); ++i) {
          const int64_t row = rows ? rows[i] : i;
          for (int f = 0; f < table.n_columns; ++f) chosen[size_t(f) * n + i] = x[row * table.row_stride + f * table.column_stride];
          if (weight) chosen_weight[i] = weight[row];
        }
      }
    });
    const FixedWeights weights = weight ? FixedWeights(chosen_weight.data(), n) : FixedWeights();
    with_key<T>([&](auto number, auto key) {
      using Number = decltype(number);
      using Key = decltype(key);
      const int n_sorting = std::clamp(n_threads, 1, std::max(1, table.n_columns));
      std::vector<SortMemory<Key>> memory(n_sorting);
      for (auto& of_thread : memory) of_thread.reserve(n, weight != nullptr);
      parallel(n_sorting, table.n_columns, [&](int participant, Tasks& tasks) {
        for (int64_t f; (f = tasks.claim()) >= 0;) {
          const T* column = chosen.data() + size_t(f) * n;
          auto weight_of = [&](int64_t i) { return weights.values[i]; };
          const Distinct& found = weight ? distinct_of<Number, Key, true>(column, 1, n, weights.shift, weight_of, memory[participant])
                                         : distinct_of<Number, Key, false>(column, 1, n, 0, weight_of, memory[participant]);
          cuts[f] = cut_points(found, max_bins);
        }
      });
    });
  });
  return cuts;
}

std::vector<double> cut_points(const Distinct& column, int max_bins) {
  const auto& values = column.values;
  const auto& weights = column.weights;
  std::vector<double> cuts;
  const int64_t n = int64_t(values.size());
  if (n <= max_bins) {
    for (int64_t i = 0; i + 1 < n; ++i) cuts.push_back(halfway(values[i], values[i + 1]));
    return cuts;
  }
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / max_bins;
  double light = 0;  // weight of the values below the mean that are still to be placed
  int bins_left = max_bins;
  for (double w : weights) {
    if (w >= mean) {
      --bins_left;
    } else {
      light += w;
    }
  }
  double goal = bins_left > 0 ? light / bins_left : 0, filled = 0;
  for (int64_t i = 0; i + 1 < n && int(cuts.size()) < max_bins - 1; ++i) {
    const bool heavy = weights[i] >= mean, next_heavy = weights[i + 1] >= mean;
    if (!heavy) light -= weights[i];
    filled += weights[i];
    if (!heavy && filled < goal && !(next_heavy && filled >= goal / 2)) continue;
    cuts.push_back(halfway(values[i], values[i + 1]));
    filled = 0;
    if (!heavy && --bins_left > 0) goal = light / bins_left;
  }
  return cuts;
}

namespace {

struct Residual {
  double value, weight;
  bool operator<(const Residual& other) const { return value < other.value || (value == other.value && weight < other.weight); }
};

// Calls f(first, last) -> double with the residuals y - raw of each leaf's rows; a leaf without rows gets zero.
template <class F>
void for_each_leaf(const uint32_t* leaf_of_row, int64_t n, int64_t n_leaves, const double* y, const double* raw, const double* weight,
                   int n_threads, double* out, F&& f) {
  std::vector<int64_t> begin(n_leaves + 1);
  for (int64_t i = 0; i < n; ++i) ++begin[leaf_of_row[i] + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Residual> rows(n);
  std::vector<int64_t> at(begin.begin(), begin.end() - 1);
  for (int64_t i = 0; i < n; ++i) rows[at[leaf_of_row[i]]++] = {y[i] - raw[i], weight ? weight[i] : 1.0};
  parallel(n_threads, n_leaves, [&](int, Tasks& tasks) {
    for (int64_t leaf; (leaf = tasks.claim()) >= 0;) {
      const bool empty = begin[leaf] == begin[leaf + 1];
      out[leaf] = empty ? 0.0 : f(rows.data() + begin[leaf], rows.data() + begin[leaf + 1]);
    }
  });
}

double quantile_of(Residual* first, Residual* last, bool weighted, double quantile) {
  double low, high;
  if (!weighted) {
    const double rank = quantile * double(last - first);
    const int64_t k = std::clamp<int64_t>(int64_t(std::ceil(rank)) - 1, 0, last - first - 1);
    std::nth_element(first, first + k, last);
    low = high = first[k].value;
    if (double(k + 1) <= rank && first + k + 1 < last) high = std::min_element(first + k + 1, last)->value;
  } else {
    std::sort(first, last);
    double total = 0, sum = 0;
    for (auto* r = first; r < last; ++r) total += r->weight;
    auto* r = first;
    while (r + 1 < last && sum + r->weight < quantile * total) sum += r++->weight;
    low = high = r->value;
    if (sum + r->weight <= quantile * total) {
      do ++r;
      while (r < last && r->weight == 0);
      if (r < last) high = r->value;
    }
  }
  return low / 2 + high / 2;
}

// A root of the falling, piecewise linear function step -> sum(weight * clip(value - step, -delta, delta)), by Newton's steps within a
// bracket. The sums are of integers: the order of rows leaves no trace.
double huber_of(Residual* first, Residual* last, bool weighted, double delta) {
  double low = first->value, high = low, top = 0;
  for (auto* r = first; r < last; ++r) low = std::min(low, r->value), high = std::max(high, r->value), top = std::max(top, r->weight);
  const double reach = std::min(delta, high - low);  // the most that a row can pull
  if (top == 0 || reach == 0) return low;
  const double unit = std::ldexp(1.0, 61 - std::ilogb(double(last - first)));  // so that all rows together fit a word
  double step = quantile_of(first, last, weighted, 0.5);
  for (int turn = 0; turn < 100; ++turn) {
    int64_t pull = 0, inside = 0;
    for (auto* r = first; r < last; ++r) {
      const double d = r->value - step, clipped = std::clamp(d, -delta, delta), weight = r->weight / top * unit;
      pull += int64_t(clipped / reach * weight);
      if (d == clipped) inside += int64_t(weight);
    }
    if (pull == 0) break;
    (pull > 0 ? low : high) = step;
    double next = step + reach * (double(pull) / double(inside));
    if (inside == 0 || next <= low || next >= high) next = low / 2 + high / 2;
    if (next == step || next == low || next == high) break;
    step = next;
  }
  return step;
}

}  // namespace

void leaf_quantiles(const uint32_t* leaf_of_row, int64_t n, int64_t n_leaves, const double* y, const double* raw, const double* weight,
                    double quantile, int n_threads, double* out) {
  for_each_leaf(leaf_of_row, n, n_leaves, y, raw, weight, n_threads, out,
                [&](Residual* first, Residual* last) { return quantile_of(first, last, weight != nullptr, quantile); });
}

void leaf_huber(const uint32_t* leaf_of_row, int64_t n, int64_t n_leaves, const double* y, const double* raw, const double* weight,
                double delta, int n_threads, double* out) {
  for_each_leaf(leaf_of_row, n, n_leaves, y, raw, weight, n_threads, out,
                [&](Residual* first, Residual* last) { return huber_of(first, last, weight != nullptr, delta); });
}

__int128 exact_sum(const double* x, int64_t n, int shift, int n_threads) {
  constexpr int64_t block = 65536;
  __int128 sum = 0;
  std::mutex adding;
  parallel(n_threads, (n + block - 1) / block, [&](int, Tasks& tasks) {
    __int128 own = 0;
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      for (int64_t i = task * block; i < std::min(n, (task + 1) * block); ++i) own += std::llrint(std::ldexp(x[i], shift));
    }
    std::lock_guard<std::mutex> guard(adding);
    sum += own;
  });
  return sum;
}

double exact_sum(const double* x, int64_t n, int n_threads) {
  double top = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return std::accumulate(x, x + n, 0.0);
    top = std::max(top, std::fabs(x[i]));
  }
  if (top == 0) return 0;
  const int shift = 61 - std::ilogb(top);
  return std::ldexp(double(exact_sum(x, n, shift, n_threads)), -shift);
}

}  // namespace sapwood
