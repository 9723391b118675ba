// Rows drawn by hashes.
#include "grow/sampling.hpp"

#include <mutex>

#include "bindings/bindings.hpp"
#include "core/hash.hpp"

namespace sapwood {
namespace {

// Joins what f(begin, end, list) appends to the lists of blocks of rows.
template <class T, class F>
std::vector<T> list_rows(int64_t n, int n_threads, F&& f) {
  std::vector<std::vector<T>> lists(size_t((n + kRowBlock - 1) / kRowBlock));
  over_rows(n, n_threads, [&](int64_t begin, int64_t end) { f(begin, end, lists[begin / kRowBlock]); });
  std::vector<int64_t> at(1, 0);
  for (const auto& list : lists) at.push_back(at.back() + int64_t(list.size()));
  std::vector<T> all(size_t(at.back()));
  over_rows(n, n_threads, [&](int64_t begin, int64_t) {
    const auto& list = lists[begin / kRowBlock];
    std::copy(list.begin(), list.end(), all.begin() + at[begin / kRowBlock]);
  });
  return all;
}

// Rows whose hash is below a fraction of all hashes.
std::vector<int64_t> sample_rows(int64_t n, int64_t first_row, double fraction, uint64_t key, int n_threads) {
  const uint64_t limit = uint64_t(fraction * 4294967296.0);
  return list_rows<int64_t>(n, n_threads, [&](int64_t begin, int64_t end, std::vector<int64_t>& list) {
    list.resize(size_t(end - begin));
    size_t count = 0;
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t row = uint64_t(first_row + i);
      list[count] = i;
      count += hash_row(row_key(key, row), uint32_t(row)) < limit;
    }
    list.resize(count);
  });
}

// Draws rows and scales their gradients: see Sampling. Returns the rows, and the sums of what was drawn.
auto sample_gradients(Bytes gradients, const RowSampling& sampling, int64_t first_row, int n_threads) {
  const int64_t n = int64_t(gradients.size()) / int64_t(sizeof(Pair));
  std::mutex adding;
  GradientSums sums;
  auto rows = list_rows<int64_t>(n, n_threads, [&](int64_t begin, int64_t end, std::vector<int64_t>& list) {
    list.reserve(size_t(end - begin));
    auto* pairs = reinterpret_cast<Pair*>(gradients.data()) + begin;
    const auto part = sample_pairs(sampling, first_row, begin, pairs, end - begin, list);
    std::lock_guard<std::mutex> guard(adding);
    sums.abs_gradient += part.abs_gradient, sums.gradient += part.gradient, sums.hessian += part.hessian;
  });
  return std::pair(std::move(rows), std::tuple(sums.abs_gradient, sums.gradient, sums.hessian));
}

}  // namespace

void bind_sampling(nb::module_& m) {
  nb::class_<RowSampling>(m, "RowSampling", "A way to sample rows, its two numbers, and the key of its random numbers.")
      .def(
          "__init__",
          [](RowSampling* self, int kind, double a, double b, uint64_t key) {
            require(kind >= 0 && kind <= int(Sampling::kBayesian), "no such sampling");
            require(a >= 0 && b > 0, "a and b must be positive");
            new (self) RowSampling{Sampling(kind), a, b, key};
          },
          "kind"_a, "a"_a, "b"_a, "key"_a);
  m.def(
      "sample_rows",
      [](int64_t n, int64_t first_row, double fraction, uint64_t key, int n_threads) {
        require(n >= 0 && n < int64_t(1) << 32 && fraction >= 0 && fraction <= 1, "n or fraction out of range");
        std::vector<int64_t> rows;
        {
          const Released free;
          rows = sample_rows(n, first_row, fraction, key, n_threads);
        }
        return to_numpy(std::move(rows));
      },
      "n"_a, "first_row"_a, "fraction"_a, "key"_a, "n_threads"_a = 1, "The rows whose hash is below a fraction of all hashes.");
  m.def(
      "sample_gradients",
      [](Bytes gradients, const RowSampling& sampling, int64_t first_row, int n_threads) {
        require(gradients.size() % sizeof(Pair) == 0, "gradients must have 8 bytes for each row");
        std::pair<std::vector<int64_t>, std::tuple<int64_t, int64_t, int64_t>> drawn;
        {
          const Released free;
          drawn = sample_gradients(gradients, sampling, first_row, n_threads);
        }
        return std::pair(to_numpy(std::move(drawn.first)), drawn.second);
      },
      "gradients"_a, "sampling"_a, "first_row"_a, "n_threads"_a,
      "Draw rows and scale their gradients. Returns the rows, and the sums of |gradient|, gradient and hessian.");
  m.def(
      "hash_rows",
      [](int64_t n, uint64_t key, int64_t first_row) {
        require(n >= 0 && first_row >= 0, "n or first_row out of range");
        std::vector<uint32_t> out(n);
        for (int64_t i = 0; i < n; ++i) {
          const uint64_t row = uint64_t(first_row + i);
          out[i] = hash_row(row_key(key, row), uint32_t(row));
        }
        return to_numpy(std::move(out));
      },
      "n"_a, "key"_a, "first_row"_a = 0, "The hash of each row.");
}

}  // namespace sapwood
