// What a model file is checked by.
#include "core/file.hpp"

#include "bindings/bindings.hpp"

namespace sapwood {

void bind_file(nb::module_& m) {
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("hash_bytes", [](In<uint8_t> data) { return hash_bytes(data.data(), int64_t(data.size())); }, "data"_a, release, "A 64-bit hash.");
  m.def(
      "find_fault",
      [](In<int64_t> begin, In<int32_t> feature, In<double> threshold, In<int32_t> bin, In<int32_t> left, In<int32_t> right,
         In<uint8_t> missing_left, In<double> gain, In<int64_t> count, In<uint8_t> kinds, In<int64_t> cuts_begin,
         int64_t n_sets) -> std::optional<std::string> {
        const size_t n = feature.size();
        require(threshold.size() == n && bin.size() == n && left.size() == n && right.size() == n && missing_left.size() == n &&
                    gain.size() == n && count.size() == n,
                "node arrays must have the same length");
        require(cuts_begin.size() == kinds.size() + 1, "cuts do not fit");
        require(begin.size() >= 1 && begin.data()[0] == 0 && begin.data()[begin.size() - 1] == int64_t(n), "trees must cover the nodes");
        for (size_t t = 0; t + 1 < begin.size(); ++t) require(begin.data()[t] <= begin.data()[t + 1], "trees must be in order");
        const StoredNodes nodes{begin.data(), int64_t(begin.size()) - 1, feature.data(),        bin.data(),   left.data(),
                                right.data(), threshold.data(),          gain.data(),           count.data(), missing_left.data(),
                                kinds.data(), cuts_begin.data(),         int64_t(kinds.size()), n_sets};
        const char* fault = find_fault(nodes);
        return fault ? std::optional<std::string>(fault) : std::nullopt;
      },
      nb::kw_only(), "begin"_a, "feature"_a, "threshold"_a, "bin"_a, "left"_a, "right"_a, "missing_left"_a, "gain"_a, "count"_a, "kinds"_a,
      "cuts_begin"_a, "n_sets"_a, "The first fault of a model file's nodes; None if they are sound.");
}

}  // namespace sapwood
