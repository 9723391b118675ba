// Elementary functions of arrays, and the float mode.
#include "core/functions.hpp"

#include "bindings/bindings.hpp"
#include "core/float_mode.hpp"

namespace sapwood {
namespace {

// Replaces n numbers by their values of a function.
template <class F>
void apply(double* x, int64_t n, F&& f) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) store4(x + i, f(load4(x + i)));
  if (i == n) return;
  double rest[4] = {1.0, 1.0, 1.0, 1.0};
  std::copy(x + i, x + n, rest);
  store4(rest, f(load4(rest)));
  std::copy(rest, rest + (n - i), x + i);
}

using Function = void (*)(double*, int64_t);
struct Named {
  const char* name;
  Function function;
};
constexpr Named kFunctions[] = {
    {"exp", [](double* x, int64_t n) { apply(x, n, [](f64x4 v) { return exp_any(v); }); }},
    {"expm1", [](double* x, int64_t n) { apply(x, n, [](f64x4 v) { return expm1_any(v); }); }},
    {"log", [](double* x, int64_t n) { apply(x, n, [](f64x4 v) { return log_any(v); }); }},
    {"log1p", [](double* x, int64_t n) { apply(x, n, [](f64x4 v) { return log1p_any(v); }); }},
    {"log_expit", [](double* x, int64_t n) { apply(x, n, [](f64x4 v) { return log_expit(v); }); }},
    {"log_ndtr", [](double* x, int64_t n) { apply(x, n, [](f64x4 v) { return log_ndtr(v); }); }},
    {"tanh", [](double* x, int64_t n) { apply(x, n, [](f64x4 v) { return tanh_any(v); }); }},
};

void apply_function(const std::string& name, nb::ndarray<double, nb::c_contig, nb::device::cpu> x, int n_threads) {
  const auto* found = std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const Named& f) { return name == f.name; });
  require(found != std::end(kFunctions), "no such function");
  over_rows(int64_t(x.size()), n_threads, [&](int64_t begin, int64_t end) { found->function(x.data() + begin, end - begin); });
}

}  // namespace

void bind_functions(nb::module_& m) {
  m.def("apply_function", &apply_function, "name"_a, "x"_a.noconvert(), "n_threads"_a = 1, nb::call_guard<Released>(),
        "Replace numbers by their values of an elementary function.");
  m.attr("DEFAULT_FLOAT_MODE") = kDefaultFloatMode;
  m.def(
      "set_float_mode",
      [](uint64_t mode) {
        const uint64_t before = float_mode();
        set_float_mode(mode);
        return before;
      },
      "mode"_a, "Set how this thread rounds and treats subnormal numbers (MXCSR or FPCR). Returns the mode before.");
}

}  // namespace sapwood
