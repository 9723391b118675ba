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

std::pair<double, double> pair_gradients_py(int measure, In<double> gain, In<double> raw, Weight weight, In<int64_t> begin, In<double> unit,
                                            int64_t truncation, double steepness, bool normalize, Out<double> gradient, Out<double> hessian,
                                            int n_threads) {
  const RankedRows rows = as_queries(gain, raw, weight, begin, unit);
  require(gradient.size() == gain.size() && hessian.size() == gain.size(), "gradient and hessian must have one value for each row");
  require(truncation >= 1 && steepness > 0, "truncation and steepness must be positive");
  const PairRule rule{as_measure(measure, RankMeasure::kPairwise), truncation, steepness, normalize};
  const Extent extent = pair_gradients(rows, rule, n_threads, gradient.data(), hessian.data());
  return {extent.gradient, extent.hessian};
}

std::pair<double, double> listwise_gradients_py(In<double> gain, In<double> raw, Weight weight, In<int64_t> begin, In<double> unit,
                                                Out<double> gradient, Out<double> hessian, int n_threads) {
  const RankedRows rows = as_queries(gain, raw, weight, begin, unit);
  require(gradient.size() == gain.size() && hessian.size() == gain.size(), "gradient and hessian must have one value for each row");
  const Extent extent = listwise_gradients(rows, n_threads, gradient.data(), hessian.data());
  return {extent.gradient, extent.hessian};
}

}  // namespace

void bind_ranking(nb::module_& m) {
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("pair_gradients", &pair_gradients_py, "measure"_a, "gain"_a, "raw"_a, "weight"_a.none(), "begin"_a, "unit"_a, "truncation"_a,
        "steepness"_a, "normalize"_a, "gradient"_a, "hessian"_a, "n_threads"_a, release);
  m.def("listwise_gradients", &listwise_gradients_py, "gain"_a, "raw"_a, "weight"_a.none(), "begin"_a, "unit"_a, "gradient"_a, "hessian"_a,
        "n_threads"_a, release);
  m.def(
      "pair_values",
      [](In<double> gain, In<double> raw, In<int64_t> begin, In<double> unit, double steepness, Out<double> out, int n_threads) {
        require(out.size() == unit.size(), "out must have one value for each query");
        pair_values(as_queries(gain, raw, {}, begin, unit), steepness, n_threads, out.data());
      },
      "gain"_a, "raw"_a, "begin"_a, "unit"_a, "steepness"_a, "out"_a, "n_threads"_a, release);
  m.def(
      "listwise_values",
      [](In<double> gain, In<double> raw, In<int64_t> begin, In<double> unit, Out<double> out, int n_threads) {
        require(out.size() == unit.size(), "out must have one value for each query");
        listwise_values(as_queries(gain, raw, {}, begin, unit), n_threads, out.data());
      },
      "gain"_a, "raw"_a, "begin"_a, "unit"_a, "out"_a, "n_threads"_a, release);
  m.def(
      "rank_values",
      [](int measure, In<double> gain, In<double> raw, In<int64_t> begin, int64_t last_rank, Out<double> out, int n_threads) {
        require(last_rank >= 1, "last_rank must be positive");
        // No unit is asked for: `out` has the right number of values.
        const RankedRows rows = as_queries(gain, raw, {}, begin, In<double>(out));
        rank_values(rows, as_measure(measure, RankMeasure::kMrr), last_rank, n_threads, out.data());
      },
      "measure"_a, "gain"_a, "raw"_a, "begin"_a, "last_rank"_a, "out"_a, "n_threads"_a, release);
}

}  // namespace sapwood
