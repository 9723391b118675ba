#include "quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

#include "binning.hpp"
#include "pool.hpp"

namespace sapwood {
namespace {

// Doubles as integers of the same order.
inline uint64_t to_key(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | (uint64_t(1) << 63);
}

inline double from_key(uint64_t key) {
  const uint64_t bits = key >> 63 ? key & ~(uint64_t(1) << 63) : ~key;
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Sorts keys digit by digit; digits that all keys share (a float32's lower half, say) cost nothing.
void sort_keys(std::vector<uint64_t>& keys) {
  constexpr int kBits = 11;
  if (keys.size() < 4096) return std::sort(keys.begin(), keys.end());
  uint64_t differ = 0;
  for (uint64_t key : keys) differ |= key ^ keys[0];
  std::vector<uint64_t> other(keys.size());
  for (int shift = 0; shift < 64; shift += kBits) {
    if (!((differ >> shift) & ((1u << kBits) - 1))) continue;
    uint32_t counts[1 << kBits] = {};
    for (uint64_t key : keys) ++counts[(key >> shift) & ((1u << kBits) - 1)];
    uint32_t at = 0;
    for (uint32_t& count : counts) at += std::exchange(count, at);
    for (uint64_t key : keys) other[counts[(key >> shift) & ((1u << kBits) - 1)]++] = key;
    keys.swap(other);
  }
}

double halfway(double a, double b) {
  double middle = a / 2 + b / 2;
  if (!(middle >= a)) middle = a;
  return middle < b ? middle : a;  // b itself must stay above the cut
}

}  // namespace

Distinct distinct_values(const Table& table, int column, const uint32_t* rows, int64_t n, const double* weight) {
  Distinct out;
  std::vector<uint64_t> keys;
  std::vector<std::pair<uint64_t, double>> weighted;
  keys.reserve(weight ? 0 : n);
  weighted.reserve(weight ? n : 0);
  with_number(table.type, [&](auto zero) {
    auto* x = static_cast<const decltype(zero)*>(table.data) + column * table.column_stride;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = rows ? rows[i] : i;
      const double value = double(x[row * table.row_stride]);
      if (value != value) continue;
      const uint64_t key = to_key(value == 0 ? 0.0 : value);  // -0 is 0
      if (weight) {
        weighted.emplace_back(key, weight[row]);
      } else {
        keys.push_back(key);
      }
    }
  });
  if (weight) {
    std::sort(weighted.begin(), weighted.end());
    for (auto [key, w] : weighted) {
      if (out.values.empty() || to_key(out.values.back()) != key) {
        out.values.push_back(from_key(key));
        out.weights.push_back(0);
      }
      out.weights.back() += w;
    }
  } else {
    sort_keys(keys);
    uint64_t last = 0;  // no number's key
    for (uint64_t key : keys) {
      if (key != last) {
        out.values.push_back(from_key(last = key));
        out.weights.push_back(0);
      }
      out.weights.back() += 1;
    }
  }
  return out;
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
  const double share = std::accumulate(weights.begin(), weights.end(), 0.0) / max_bins;
  double light = 0;  // weight of the values that share bins, still to be placed
  int bins_left = max_bins;
  for (double w : weights) {
    if (w >= share) {
      --bins_left;
    } else {
      light += w;
    }
  }
  double goal = bins_left > 0 ? light / bins_left : 0, filled = 0;
  for (int64_t i = 0; i + 1 < n && int(cuts.size()) < max_bins - 1; ++i) {
    const bool heavy = weights[i] >= share, next_heavy = weights[i + 1] >= share;
    if (!heavy) light -= weights[i];
    filled += weights[i];
    if (!heavy && filled < goal && !(next_heavy && filled >= goal / 2)) continue;
    cuts.push_back(halfway(values[i], values[i + 1]));
    filled = 0;
    if (!heavy && --bins_left > 0) goal = light / bins_left;
  }
  return cuts;
}

void leaf_quantiles(const uint32_t* leaf_of_row, int64_t n, int64_t n_leaves, const double* y, const double* raw, const double* weight,
                    double quantile, int n_threads, double* out) {
  std::vector<int64_t> begin(n_leaves + 1);
  for (int64_t i = 0; i < n; ++i) ++begin[leaf_of_row[i] + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::pair<double, double>> rows(n);  // residual, weight
  std::vector<int64_t> at(begin.begin(), begin.end() - 1);
  for (int64_t i = 0; i < n; ++i) rows[at[leaf_of_row[i]]++] = {y[i] - raw[i], weight ? weight[i] : 1.0};
  parallel(n_threads, n_leaves, [&](int, Tasks& tasks) {
    for (int64_t leaf; (leaf = tasks.claim()) >= 0;) {
      auto* first = rows.data() + begin[leaf];
      auto* last = rows.data() + begin[leaf + 1];
      out[leaf] = 0;
      if (first == last) continue;
      double low, high;
      if (!weight) {
        const double rank = quantile * double(last - first);
        const int64_t k = std::clamp<int64_t>(int64_t(std::ceil(rank)) - 1, 0, last - first - 1);
        std::nth_element(first, first + k, last);
        low = high = first[k].first;
        if (double(k + 1) <= rank && first + k + 1 < last) high = std::min_element(first + k + 1, last)->first;
      } else {
        std::sort(first, last);
        double total = 0, sum = 0;
        for (auto* r = first; r < last; ++r) total += r->second;
        auto* r = first;
        while (r + 1 < last && sum + r->second < quantile * total) sum += r++->second;
        low = high = r->first;
        if (sum + r->second <= quantile * total && r + 1 < last) high = r[1].first;
      }
      out[leaf] = low / 2 + high / 2;
    }
  });
}

double exact_sum(const double* x, int64_t n, int n_threads) {
  double top = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return std::accumulate(x, x + n, 0.0);
    top = std::max(top, std::fabs(x[i]));
  }
  if (top == 0) return 0;
  const int shift = 61 - std::ilogb(top);
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
  return std::ldexp(double(sum), -shift);
}

}  // namespace sapwood
