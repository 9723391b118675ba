// Checks of a model file.
#include "core/file.hpp"

#include "bindings/bindings.hpp"

namespace sapwood {
namespace {

// Nodes of a model file; the arrays live as long as it does.
struct OwnedNodes {
  In<int64_t> begin;
  In<int32_t> feature;
  In<double> threshold;
  In<int32_t> bin, left, right;
  In<uint8_t> missing_left;
  In<double> gain;
  In<int64_t> count;

  void check() const {
    const size_t n = feature.size();
    require(threshold.size() == n && bin.size() == n && left.size() == n && right.size() == n && missing_left.size() == n &&
                gain.size() == n && count.size() == n,
            "node arrays must have the same length");
    require(begin.size() >= 1 && begin.data()[0] == 0 && begin.data()[begin.size() - 1] == int64_t(n), "trees must cover the nodes");
    for (size_t t = 0; t + 1 < begin.size(); ++t) require(begin.data()[t] <= begin.data()[t + 1], "trees must be in order");
  }
  StoredNodes arrays(const In<uint8_t>& kinds, const In<int64_t>& cuts_begin, int64_t n_sets) const {
    return {.begin = begin.data(),
            .n_trees = int64_t(begin.size()) - 1,
            .feature = feature.data(),
            .bin = bin.data(),
            .left = left.data(),
            .right = right.data(),
            .threshold = threshold.data(),
            .gain = gain.data(),
            .count = count.data(),
            .missing_left = missing_left.data(),
            .kinds = kinds.data(),
            .cuts_begin = cuts_begin.data(),
            .n_features = int64_t(kinds.size()),
            .n_sets = n_sets};
  }
};

}  // namespace

void bind_file(nb::module_& m) {
  const auto release = nb::call_guard<Released>();
  m.def("hash_bytes", [](In<uint8_t> data) { return hash_bytes(data.data(), int64_t(data.size())); }, "data"_a, release, "A 64-bit hash.");
  nb::class_<OwnedNodes>(m, "StoredNodes", "Nodes of a model file, not yet checked. The arrays must not change afterwards.")
      .def(
          "__init__",
          [](OwnedNodes* self, In<int64_t> begin, In<int32_t> feature, In<double> threshold, In<int32_t> bin, In<int32_t> left,
             In<int32_t> right, In<uint8_t> missing_left, In<double> gain, In<int64_t> count) {
            OwnedNodes nodes{begin, feature, threshold, bin, left, right, missing_left, gain, count};
            nodes.check();
            new (self) OwnedNodes(std::move(nodes));
          },
          nb::kw_only(), "begin"_a, "feature"_a, "threshold"_a, "bin"_a, "left"_a, "right"_a, "missing_left"_a, "gain"_a, "count"_a)
      .def(
          "find_fault",
          [](const OwnedNodes& self, In<uint8_t> kinds, In<int64_t> cuts_begin, int64_t n_sets) -> std::optional<std::string> {
            require(cuts_begin.size() == kinds.size() + 1, "cuts do not fit");
            const char* fault = find_fault(self.arrays(kinds, cuts_begin, n_sets));
            return fault ? std::optional<std::string>(fault) : std::nullopt;
          },
          "kinds"_a, "cuts_begin"_a, "n_sets"_a, "The first fault of the nodes; None if they are sound.");
}

}  // namespace sapwood
