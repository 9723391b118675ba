// Losses and measures of ranked rows.
#include "loss/ranking.hpp"

#include "bindings/bindings.hpp"

namespace sapwood {
namespace {

RankMeasure as_measure(int measure, RankMeasure last) {
  require(measure >= 0 && measure <= int(last), "no such measure");
  return RankMeasure(measure);
}

// Rows by query; the arrays live as long as it does. Checked once, so that the kernels need not.
struct OwnedRankedRows {
  In<double> gain, raw;
  Weight weight;
  In<int64_t> begin;
  std::optional<In<double>> unit;

  OwnedRankedRows(In<double> gain_, In<double> raw_, Weight weight_, In<int64_t> begin_, std::optional<In<double>> unit_)
      : gain(std::move(gain_)), raw(std::move(raw_)), weight(std::move(weight_)), begin(std::move(begin_)), unit(std::move(unit_)) {
    const int64_t n = int64_t(gain.size());
    require(int64_t(raw.size()) == n && (!weight || int64_t(weight->size()) == n), "gain, raw and weight must have the same length");
    require(begin.size() >= 1 && begin.data()[0] == 0 && begin.data()[n_queries()] == n, "queries must cover the rows");
    require(!unit || int64_t(unit->size()) == n_queries(), "unit must have one value for each query");
    for (int64_t q = 0; q < n_queries(); ++q) {
      const int64_t size = begin.data()[q + 1] - begin.data()[q];
      require(size > 0 && size < int64_t(1) << 32, "a query has at least one row");
    }
  }
  int64_t n_queries() const { return int64_t(begin.size()) - 1; }
  RankedRows rows() const {
    return {gain.data(), raw.data(), weight ? weight->data() : nullptr, begin.data(), unit ? unit->data() : nullptr, n_queries()};
  }
  RankedRows with_units() const {
    require(unit.has_value(), "unit must be given");
    return rows();
  }
};

void check_gradients(const OwnedRankedRows& owned, const Out<double>& gradient, const Out<double>& hessian) {
  const size_t n = owned.gain.size();
  require(gradient.size() == n && hessian.size() == n, "gradient and hessian must have one value for each row");
}

void check_values(const OwnedRankedRows& owned, const Out<double>& out) {
  require(int64_t(out.size()) == owned.n_queries(), "out must have one value for each query");
}

std::pair<double, double> pair_gradients_py(const OwnedRankedRows& rows, const PairRule& rule, Out<double> gradient, Out<double> hessian,
                                            int n_threads) {
  check_gradients(rows, gradient, hessian);
  const Extent extent = pair_gradients(rows.with_units(), rule, n_threads, gradient.data(), hessian.data());
  return {extent.gradient, extent.hessian};
}

std::pair<double, double> listwise_gradients_py(const OwnedRankedRows& rows, Out<double> gradient, Out<double> hessian, int n_threads) {
  check_gradients(rows, gradient, hessian);
  const Extent extent = listwise_gradients(rows.with_units(), n_threads, gradient.data(), hessian.data());
  return {extent.gradient, extent.hessian};
}

}  // namespace

void bind_ranking(nb::module_& m) {
  const auto release = nb::call_guard<Released>();
  nb::class_<OwnedRankedRows>(m, "RankedRows",
                              "Rows of queries: gains, raw scores, weights; the first row of each query; the factor of its gradients. The "
                              "begins must not change afterwards.")
      .def(nb::init<In<double>, In<double>, Weight, In<int64_t>, std::optional<In<double>>>(), "gain"_a, "raw"_a, "weight"_a.none(),
           "begin"_a, "unit"_a = nb::none());
  nb::class_<PairRule>(m, "PairRule", "How pairs of a query's rows are weighted.")
      .def(
          "__init__",
          [](PairRule* self, int measure, int64_t truncation, double steepness, bool normalize) {
            require(truncation >= 1 && steepness > 0, "truncation and steepness must be positive");
            new (self) PairRule{as_measure(measure, RankMeasure::kPairwise), truncation, steepness, normalize};
          },
          "measure"_a, "truncation"_a, "steepness"_a = 1.0, "normalize"_a = false);
  m.def("pair_gradients", &pair_gradients_py, "rows"_a, "rule"_a, "gradient"_a, "hessian"_a, "n_threads"_a, release,
        "Fill in the gradients and hessians of the pairs of each query. Returns the largest |gradient| and hessian.");
  m.def("listwise_gradients", &listwise_gradients_py, "rows"_a, "gradient"_a, "hessian"_a, "n_threads"_a, release,
        "Fill in the gradients and hessians of each query's softmax. Returns the largest |gradient| and hessian.");
  m.def(
      "pair_values",
      [](const OwnedRankedRows& rows, double steepness, Out<double> out, int n_threads) {
        check_values(rows, out);
        pair_values(rows.with_units(), steepness, n_threads, out.data());
      },
      "rows"_a, "steepness"_a, "out"_a, "n_threads"_a, release, "Fill in the loss of the pairs of each query.");
  m.def(
      "listwise_values",
      [](const OwnedRankedRows& rows, Out<double> out, int n_threads) {
        check_values(rows, out);
        listwise_values(rows.with_units(), n_threads, out.data());
      },
      "rows"_a, "out"_a, "n_threads"_a, release, "Fill in the cross-entropy of each query.");
  m.def(
      "rank_values",
      [](const OwnedRankedRows& rows, int measure, int64_t last_rank, Out<double> out, int n_threads) {
        check_values(rows, out);
        require(last_rank >= 1, "last_rank must be positive");
        rank_values(rows.rows(), as_measure(measure, RankMeasure::kMrr), last_rank, n_threads, out.data());
      },
      "rows"_a, "measure"_a, "last_rank"_a, "out"_a, "n_threads"_a, release,
      "Fill in the measure of each query, over its first `last_rank` rows.");
}

}  // namespace sapwood
