// Branches of symmetric trees.
#include "grow/branches.hpp"

#include <bit>

#include "bindings/bindings.hpp"

namespace sapwood {

void bind_branches(nb::module_& m) {
  nb::class_<LeafMinimum>(m, "LeafMinimum", "Rows and hessian that a leaf must have. Fixed-point hessians are divided by `hessian_scale`.")
      .def(
          "__init__",
          [](LeafMinimum* self, int64_t rows, double hessian, double hessian_scale) {
            require(hessian_scale > 0, "hessian_scale must be positive");
            new (self) LeafMinimum{rows, hessian, hessian_scale};
          },
          "rows"_a, "hessian"_a, "hessian_scale"_a);
  m.def(
      "divide_levels",
      [](In<int64_t> gradient, In<int64_t> hessian, In<int64_t> rows, const LeafMinimum& minimum) {
        const size_t n = gradient.size();
        require(n > 0 && n < size_t(1) << 31 && std::has_single_bit(n), "there must be 2^n_levels leaves");
        require(hessian.size() == n && rows.size() == n, "sums must be of the same leaves");
        std::vector<Sums> leaves(n);
        for (size_t i = 0; i < n; ++i) leaves[i] = {gradient.data()[i], hessian.data()[i], rows.data()[i]};
        Branches found = divide_levels(leaves, std::countr_zero(n), minimum);
        const size_t n_branches = found.sums.size();
        std::vector<int64_t> sums(3 * n_branches);
        for (size_t i = 0; i < n_branches; ++i) {
          sums[i] = found.sums[i].g, sums[n_branches + i] = found.sums[i].h, sums[2 * n_branches + i] = found.sums[i].count;
        }
        return std::tuple(to_numpy(std::move(found.level)), to_numpy(std::move(found.left)), to_numpy(std::move(found.right)),
                          to_numpy2(std::move(sums), n_branches), to_numpy(std::move(found.of_leaf)));
      },
      "gradient"_a, "hessian"_a, "rows"_a, "minimum"_a,
      "Branches of a symmetric tree from the sums of its leaves: level that divides each, left, right, sums (3, n), and branch of each "
      "leaf.");
}

}  // namespace sapwood
