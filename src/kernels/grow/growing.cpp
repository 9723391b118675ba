#include "grow/growing.hpp"

#include <algorithm>

#include "core/hash.hpp"

namespace sapwood {

bool GrowingTree::can_split(const Node& node) const {
  return node.sums.count >= 2 * rules_.min_count && (max_depth_ <= 0 || node.depth < max_depth_);
}

Limits GrowingTree::with_value(Limits limits, const Sums& sums) const {
  const f64x4 g = splat(double(sums.g) * rules_.gradient_unit), h = splat(double(sums.h) * rules_.hessian_unit);
  limits.value = leaf_value(g, h, splat(double(sums.count)), rules_, extras_, limits)[0];
  return limits;
}

// What the children's values must keep to: where the feature is monotonic, each stays on its side of the middle.
void GrowingTree::limit_children(const Node& node, Node& left, Node& right) const {
  Limits limits = node.limits;
  limits.anchor = node.limits.value;
  left.limits = with_value(limits, left.sums);
  right.limits = with_value(limits, right.sums);
  const int monotonic = extras_.monotonic.empty() ? 0 : extras_.monotonic[node.split.feature];
  if (monotonic == 0) return;
  const double middle = (left.limits.value + right.limits.value) / 2;
  Limits& low = monotonic > 0 ? left.limits : right.limits;
  Limits& high = monotonic > 0 ? right.limits : left.limits;
  low.upper = std::min(low.upper, extras_.neighbours ? high.value : middle);
  high.lower = std::max(high.lower, extras_.neighbours ? low.value : middle);
  // A forced split may have them the wrong way round.
  low.value = std::min(low.value, low.upper);
  high.value = std::max(high.value, high.lower);
}

Sought GrowingTree::sought(int node, uint32_t feature) const {
  Sought sought{rules_, extras_, nodes_[node].sums, nodes_[node].limits};
  if (!extras_.monotonic.empty()) sought.monotonic = extras_.monotonic[feature];
  if (extras_.extra) sought.random = random_of(node, feature, 0);
  sought.kind = extras_.kind(int(feature));
  return sought;
}

// Keeps a feature's best split if it is better than the best so far.
void GrowingTree::compare(Split& split, int node, Split& top) const {
  split.score = split.gain;
  if (!extras_.weights.empty()) split.score *= extras_.weights[split.feature];
  if (extras_.score_noise > 0) split.score *= exp4(splat(extras_.score_noise * normal_of(node, uint32_t(split.feature))))[0];
  if (split.gain > 0 && split.score > 0 && (top.gain <= 0 || better(split, top))) top = split;
}

// Random bits of a node and a feature.
uint32_t GrowingTree::random_of(int node, uint32_t feature, uint32_t which) const {
  const uint64_t key = key_ + 0x9E3779B97F4A7C15ull * (uint64_t(node) + 1) + 0xD1B54A32D192ED03ull * which;
  return hash_row(row_key(key, 0), feature);
}

// About a standard normal number: the sum of twelve uniform ones, less six.
double GrowingTree::normal_of(int node, uint32_t feature) const {
  int64_t sum = 0;
  for (uint32_t k = 1; k <= 12; ++k) sum += random_of(node, feature, k);
  return double(sum) / 4294967296.0 - 6.0;
}

void GrowingTree::make_children(int node, int first) {
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
  if (extras_.shape_values()) limit_children(parent, left, right);
}

void GrowingTree::set_forced_gain(int node) {
  Split& split = nodes_[node].split;
  const Sums& all = nodes_[node].sums;
  auto score = [&](const Sums& s) { return double(s.g) * double(s.g) / (double(s.h) * rules_.hessian_unit + rules_.l2 + 1e-300); };
  const Sums right{all.g - split.left.g, all.h - split.left.h, all.count - split.left.count};
  split.score = split.gain = std::max(score(split.left) + score(right) - score(all), 1e-300);
}

void GrowingTree::take_split(int node, const Split& split) {
  nodes_[node].split = split;
  if (split.gain > 0 && !split.any_missing) {
    // None missing here in training: a missing value goes where most rows go.
    nodes_[node].split.missing_left = 2 * split.left.count > nodes_[node].sums.count;
  }
}

}  // namespace sapwood
