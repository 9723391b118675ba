#include "grow/tree_nodes.hpp"

#include <algorithm>

#include "core/hash.hpp"

namespace sapwood {

void TreeNodes::start(const TreeSettings& settings) {
  rules_ = settings.rules;
  max_depth_ = settings.max_depth;
  key_ = settings.key;
  nodes_.assign(1, Node{});
}

void TreeNodes::set_root_sums(const Sums& sums) {
  nodes_[0].sums = sums;
  if (constraints_.shape_values()) nodes_[0].limits = with_value(Limits{}, sums);
}

Limits TreeNodes::with_value(Limits limits, const Sums& sums) const {
  const f64x4 g = splat(double(sums.g) * rules_.gradient_unit), h = splat(double(sums.h) * rules_.hessian_unit);
  limits.value = leaf_value(g, h, splat(double(sums.count)), rules_, constraints_, limits)[0];
  return limits;
}

// Bounds of the children's values: if the feature is monotonic, each child stays on its side of the middle.
void TreeNodes::limit_children(const Node& node, Node& left, Node& right) const {
  Limits limits = node.limits;
  limits.anchor = node.limits.value;
  left.limits = with_value(limits, left.sums);
  right.limits = with_value(limits, right.sums);
  const int monotonic = constraints_.monotonic.empty() ? 0 : constraints_.monotonic[node.split.feature];
  if (monotonic == 0) return;
  const double middle = (left.limits.value + right.limits.value) / 2;
  Limits& low = monotonic > 0 ? left.limits : right.limits;
  Limits& high = monotonic > 0 ? right.limits : left.limits;
  low.upper = std::min(low.upper, constraints_.neighbours ? high.value : middle);
  high.lower = std::max(high.lower, constraints_.neighbours ? low.value : middle);
  // A forced split may have them the wrong way round.
  low.value = std::min(low.value, low.upper);
  high.value = std::max(high.value, high.lower);
}

SearchContext TreeNodes::context(int node, uint32_t feature) const {
  SearchContext context{rules_, constraints_, nodes_[node].sums, nodes_[node].limits};
  if (!constraints_.monotonic.empty()) context.monotonic = constraints_.monotonic[feature];
  if (rules_.extra) context.random = random_of(node, feature, 0);
  context.kind = constraints_.kind(int(feature));
  return context;
}

void TreeNodes::compare(Split& split, int node, Split& top) const {
  split.score = split.gain;
  if (!constraints_.weights.empty()) split.score *= constraints_.weights[split.feature];
  if (constraints_.score_noise > 0) {
    split.score *= exp4(splat(constraints_.score_noise * normal_of(node, uint32_t(split.feature))))[0];
  }
  if (split.gain > 0 && split.score > 0 && (top.gain <= 0 || better(split, top))) top = split;
}

// Random bits of a node and a feature.
uint32_t TreeNodes::random_of(int node, uint32_t feature, uint32_t which) const {
  const uint64_t key = key_ + 0x9E3779B97F4A7C15ull * (uint64_t(node) + 1) + 0xD1B54A32D192ED03ull * which;
  return hash_row(row_key(key, 0), feature);
}

// About a standard normal number: the sum of twelve uniform ones, less six.
double TreeNodes::normal_of(int node, uint32_t feature) const {
  int64_t sum = 0;
  for (uint32_t k = 1; k <= 12; ++k) sum += random_of(node, feature, k);
  return double(sum) / 4294967296.0 - 6.0;
}

int TreeNodes::add_children(size_t n) {
  const int first = int(nodes_.size());
  nodes_.resize(nodes_.size() + 2 * n);
  return first;
}

void TreeNodes::make_children(int node, int first) {
  Node& parent = nodes_[node];
  parent.left = first;
  parent.right = first + 1;
  Node &left = nodes_[first], &right = nodes_[first + 1];
  left.parent = right.parent = node;
  left.depth = right.depth = parent.depth + 1;
  if (parent.split.counted) {
    left.sums = parent.split.left;
    right.sums = {parent.sums.g - left.sums.g, parent.sums.h - left.sums.h, parent.sums.count - left.sums.count};
  }
  if (!constraints_.shape_values()) return;
  if (ignores_split(parent, left, right)) {
    left.limits = right.limits = parent.limits;
  } else {
    limit_children(parent, left, right);
  }
}

// Whether the rows of a node stay together: in a symmetric tree, where the split of the level would leave too few on a side.
bool TreeNodes::ignores_split(const Node& node, const Node& left, const Node& right) const {
  auto allowed = [&](const Sums& sums) {
    return sums.count >= rules_.min_count && double(sums.h) * rules_.hessian_unit >= rules_.min_hessian;
  };
  return constraints_.symmetric && !(node.split.counted && allowed(left.sums) && allowed(right.sums));
}

void TreeNodes::set_split(int node, const Split& split) {
  nodes_[node].split = split;
  if (split.gain > 0 && !split.any_missing) {
    // No missing value here in training: one goes where most rows go.
    nodes_[node].split.missing_left = 2 * split.left.count > nodes_[node].sums.count;
  }
}

bool TreeNodes::force_split(int node, const Split& split, const Sums& all) {
  if (split.left.count == 0 || split.left.count == all.count) return false;
  if (node == 0) set_root_sums(all);  // a root that is too small to be searched has none yet
  const Sums& sums = nodes_[node].sums;
  auto score = [&](const Sums& s) { return double(s.g) * double(s.g) / (double(s.h) * rules_.hessian_unit + rules_.l2 + 1e-300); };
  const Sums right{sums.g - split.left.g, sums.h - split.left.h, sums.count - split.left.count};
  nodes_[node].split = split;
  nodes_[node].split.score = nodes_[node].split.gain = std::max(score(split.left) + score(right) - score(sums), 1e-300);
  return true;
}

}  // namespace sapwood
