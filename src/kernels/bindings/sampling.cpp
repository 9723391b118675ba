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

// Rows whose hash is below a share of all.
std::vector<int64_t> sample_rows(int64_t n, int64_t first_row, double share, uint64_t key, int n_threads) {
  const uint64_t limit = uint64_t(share * 4294967296.0);
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

// Draws rows and scales their records: see Sampling. Returns the rows, and the sums of what was drawn.
auto sample_records(Bytes records, int sampling, double a, double b, uint64_t key, int64_t first_row, int n_threads) {
  const int64_t n = int64_t(records.size()) / int64_t(sizeof(Pair));
  std::mutex adding;
  RecordSums sums;
  auto rows = list_rows<int64_t>(n, n_threads, [&](int64_t begin, int64_t end, std::vector<int64_t>& list) {
    list.reserve(size_t(end - begin));
    auto* pairs = reinterpret_cast<Pair*>(records.data()) + begin;
    const auto part = sample_pairs(Sampling(sampling), a, b, key, first_row, begin, pairs, end - begin, list);
    std::lock_guard<std::mutex> guard(adding);
    sums.abs_gradient += part.abs_gradient, sums.gradient += part.gradient, sums.hessian += part.hessian;
  });
  return std::pair(std::move(rows), std::tuple(sums.abs_gradient, sums.gradient, sums.hessian));
}

}  // namespace

void bind_sampling(nb::module_& m) {
  m.def(
      "sample_rows",
      [](int64_t n, int64_t first_row, double share, uint64_t key, int n_threads) {
        require(n >= 0 && n < int64_t(1) << 32 && share >= 0 && share <= 1, "n or share out of range");
        std::vector<int64_t> rows;
        {
          nb::gil_scoped_release free;
          rows = sample_rows(n, first_row, share, key, n_threads);
        }
        return to_numpy(std::move(rows));
      },
      "n"_a, "first_row"_a, "share"_a, "key"_a, "n_threads"_a = 1, "The rows whose hash is below a share of all.");
  m.def(
      "sample_records",
      [](Bytes records, int sampling, double a, double b, uint64_t key, int n_threads, int64_t first_row) {
        require(sampling >= 0 && sampling <= int(Sampling::kBayesian), "no such sampling");
        require(records.size() % sizeof(Pair) == 0, "records must have 8 bytes for each row");
        require(a >= 0 && b > 0, "a and b must be positive");
        std::pair<std::vector<int64_t>, std::tuple<int64_t, int64_t, int64_t>> drawn;
        {
          nb::gil_scoped_release free;
          drawn = sample_records(records, sampling, a, b, key, first_row, n_threads);
        }
        return std::pair(to_numpy(std::move(drawn.first)), drawn.second);
      },
      "records"_a, "sampling"_a, "a"_a, "b"_a, "key"_a, "n_threads"_a, "first_row"_a = 0,
      "Draw rows and scale their records. Returns the rows, and the sums of |gradient|, gradient and hessian.");
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
