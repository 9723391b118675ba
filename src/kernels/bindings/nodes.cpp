// The nodes of a tree as arrays.
#include "bindings/nodes.hpp"

namespace sapwood {
namespace {

template <class Self, class... Members>
void def_arrays(nb::class_<Self>& type, std::initializer_list<const char*> names, Members... members) {
  auto name = names.begin();
  (type.def_prop_ro(*name++, [members](const Self& self) { return self.*members; }, nb::rv_policy::automatic), ...);
}

template <class Self>
void def_tree_columns(nb::class_<Self>& type) {
  def_arrays<Self>(type, {"feature", "bin", "left", "right", "missing_left", "by_levels", "count", "gain"}, &Self::feature, &Self::bin,
                   &Self::left, &Self::right, &Self::missing_left, &Self::by_levels, &Self::count, &Self::gain);
}

}  // namespace

void bind_nodes(nb::module_& m) {
  nb::class_<GrownTree> grown(m, "GrownTree", "A tree that is grown: nodes in real units; `lower`, `upper`, `anchor` of its leaves.");
  def_tree_columns(grown);
  def_arrays<GrownTree>(grown, {"leaves", "inner", "lower", "upper", "anchor"}, &GrownTree::leaves, &GrownTree::inner, &GrownTree::lower,
                        &GrownTree::upper, &GrownTree::anchor);
  nb::class_<NodeColumns> nodes(m, "NodeColumns",
                                "The nodes of a growing tree, in the units of its histograms. `step` is a node's value where constraints "
                                "shape it, before the learning rate; `anchor` its parent's.");
  def_tree_columns(nodes);
  def_arrays<NodeColumns>(nodes, {"depth", "gradient", "hessian", "lower", "upper", "step", "anchor"}, &NodeColumns::depth,
                          &NodeColumns::gradient, &NodeColumns::hessian, &NodeColumns::lower, &NodeColumns::upper, &NodeColumns::step,
                          &NodeColumns::anchor);
}

}  // namespace sapwood
