// The functions and types that Python sees: see bindings/.
#include "bindings/bindings.hpp"
#include "core/fixed.hpp"

namespace nb = nanobind;
using namespace sapwood;

NB_MODULE(SAPWOOD_MODULE, m) {
  m.doc() = "Loops over rows, bins and nodes.";
  nb::set_leak_warnings(false);  // a model may well live until the interpreter ends
  m.attr("BLOCK_ROWS") = kBlockRows;
  m.attr("MAX_GRADIENT") = kMaxGradient;
  m.attr("MAX_HESSIAN") = kMaxHessian;
  m.attr("GRADIENT_SHIFT") = kGradientShift;
  m.attr("HESSIAN_SHIFT") = kHessianShift;
  m.def(
      "supports_avx2",
      [] {
#if defined(__x86_64__)
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
               __builtin_cpu_supports("fma");
#else
        return false;
#endif
      },
      "Whether this CPU can run the AVX2 module.");
  bind_losses(m);
  bind_ranking(m);
  bind_sampling(m);
  bind_bundling(m);
  bind_tables(m);
  bind_pages(m);
  bind_rules(m);
  bind_branches(m);
  bind_nodes(m);
  bind_partition(m);
  bind_search(m);
  bind_sorted(m);
  bind_scoring(m);
  bind_linear_leaves(m);
  bind_file(m);
  bind_functions(m);
  bind_signals(m);
}
