// Losses and measures of ranked rows.
#include "loss/ranking.hpp"

#include "bindings/bindings.hpp"

namespace sapwood {
namespace {

RankedRows as_queries(const In<double>& gain, const In<double>& raw, const Weight& weight, const In<int64_t>& begin,
                      const In<double>& unit) {
  const int64_t n = int64_t(gain.size());
  require(int64_t(raw.size()) == n && (!weight || int64_t(weight->size()) == n), "gain, raw and weight must have the same length");
  require(begin.size() == unit.size() + 1 && begin.data()[0] == 0 && begin.data()[unit.size()] == n, "queries must cover the rows");
  for (size_t q = 0; q < unit.size(); ++q) {
    const int64_t size = begin.data()[q + 1] - begin.data()[q];
    require(size > 0 && size < int64_t(1) << 32, "a query has at least one row");
  }
  return {gain.data(), raw.data(), weight ? weight->data() : nullptr, begin.data(), unit.data(), int64_t(unit.size())};
}

RankMeasure as_measure(int measure, RankMeasure last) {
  require(measure >= 0 && measure <= int(last), "no such measure");
  return RankMeasure(measure);
}

// Rows by query; the arrays live as long as it does. Checked once, so that the kernels need not.
struct OwnedRankedRows {
  In<double> gain, raw;
  Weight weight;
  In<int64_t> begin;
  In<double> unit;
  RankedRows rows;
};

void check_gradients(const OwnedRankedRows& owned, const Out<double>& gradient, const Out<double>& hessian) {
  const size_t n = owned.gain.size();
  require(gradient.size() == n && hessian.size() == n, "gradient and hessian must have one value for each row");
}

std::pair<double, double> pair_gradients_py(int measure, const OwnedRankedRows& rows, int64_t truncation, double steepness, bool normalize,
                                            Out<double> gradient, Out<double> hessian, int n_threads) {
  check_gradients(rows, gradient, hessian);
  require(truncation >= 1 && steepness > 0, "truncation and steepness must be positive");
  const PairRule rule{as_measure(measure, RankMeasure::kPairwise), truncation, steepness, normalize};
  const Extent extent = pair_gradients(rows.rows, rule, n_threads, gradient.data(), hessian.data());
  return {extent.gradient, extent.hessian};
}

std::pair<double, double> listwise_gradients_py(const OwnedRankedRows& rows, Out<double> gradient, Out<double> hessian, int n_threads) {
  check_gradients(rows, gradient, hessian);
  const Extent extent = listwise_gradients(rows.rows, n_threads, gradient.data(), hessian.data());
  return {extent.gradient, extent.hessian};
}

}  // namespace

void bind_ranking(nb::module_& m) {
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<OwnedRankedRows>(m, "RankedRows",
                              "Rows of queries: gains, raw scores, weights; the first row of each query; the factor of its gradients. The "
                              "begins must not change afterwards.")
      .def(
          "__init__",
          [](OwnedRankedRows* self, In<double> gain, In<double> raw, const Weight& weight, In<int64_t> begin, In<double> unit) {
            new (self) OwnedRankedRows{gain, raw, weight, begin, unit, as_queries(gain, raw, weight, begin, unit)};
          },
          "gain"_a, "raw"_a, "weight"_a.none(), "begin"_a, "unit"_a);
  m.def("pair_gradients", &pair_gradients_py, "measure"_a, "rows"_a, "truncation"_a, "steepness"_a, "normalize"_a, "gradient"_a,
        "hessian"_a, "n_threads"_a, release,
        "Fill in the gradients and hessians of the pairs of each query. Returns the largest |gradient| and hessian.");
  m.def("listwise_gradients", &listwise_gradients_py, "rows"_a, "gradient"_a, "hessian"_a, "n_threads"_a, release,
        "Fill in the gradients and hessians of each query's softmax. Returns the largest |gradient| and hessian.");
  m.def(
      "pair_values",
      [](In<double> gain, In<double> raw, In<int64_t> begin, In<double> unit, double steepness, Out<double> out, int n_threads) {
        require(out.size() == unit.size(), "out must have one value for each query");
        pair_values(as_queries(gain, raw, {}, begin, unit), steepness, n_threads, out.data());
      },
      "gain"_a, "raw"_a, "begin"_a, "unit"_a, "steepness"_a, "out"_a, "n_threads"_a, release,
      "Fill in the loss of the pairs of each query.");
  m.def(
      "listwise_values",
      [](In<double> gain, In<double> raw, In<int64_t> begin, In<double> unit, Out<double> out, int n_threads) {
        require(out.size() == unit.size(), "out must have one value for each query");
        listwise_values(as_queries(gain, raw, {}, begin, unit), n_threads, out.data());
      },
      "gain"_a, "raw"_a, "begin"_a, "unit"_a, "out"_a, "n_threads"_a, release, "Fill in the cross-entropy of each query.");
  m.def(
      "rank_values",
      [](int measure, In<double> gain, In<double> raw, In<int64_t> begin, int64_t last_rank, Out<double> out, int n_threads) {
        require(last_rank >= 1, "last_rank must be positive");
        // No unit is asked for: `out` has the right number of values.
        const RankedRows rows = as_queries(gain, raw, {}, begin, In<double>(out));
        rank_values(rows, as_measure(measure, RankMeasure::kMrr), last_rank, n_threads, out.data());
      },
      "measure"_a, "gain"_a, "raw"_a, "begin"_a, "last_rank"_a, "out"_a, "n_threads"_a, release,
      "Fill in the measure of each query, over its first `last_rank` rows.");
}

}  // namespace sapwood
