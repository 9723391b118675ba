// Checks of a model file: a checksum of its arrays, and whether its nodes are trees.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/guard.hpp"

namespace sapwood {

// A hash of bytes: eight lanes of 64-bit words, see docs/format.md. A change within one word always shows.
inline uint64_t hash_bytes(const uint8_t* data, int64_t n) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  uint64_t lanes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  auto mix = [](uint64_t lane, uint64_t word) {
    lane = (lane ^ word) * kFactor;
    return lane ^ (lane >> 32);
  };
  auto take = [&](const uint8_t* block, size_t size) {
    uint64_t words[8] = {};
    std::memcpy(words, block, size);
    for (int i = 0; i < 8; ++i) lanes[i] = mix(lanes[i], words[i]);
  };
  int64_t at = 0;
  for (; at + 64 <= n; at += 64) take(data + at, 64);
  if (at < n) take(data + at, size_t(n - at));
  uint64_t hash = uint64_t(n);
  for (uint64_t lane : lanes) hash = mix(hash, lane);
  return hash;
}
static_assert(std::endian::native == std::endian::little, "files are little-endian");

// The nodes of all trees of a file, as it has them. Leaf models check their arrays themselves.
struct StoredNodes {
  const int64_t* begin;  // (n_trees + 1,) ascending from 0
  int64_t n_trees;
  const int32_t *feature, *bin, *left, *right;
  const double *threshold, *gain;
  const int64_t* count;
  const uint8_t* missing_left;
  const uint8_t* kinds;       // (n_features,) 0 for numbers
  const int64_t* cuts_begin;  // (n_features + 1,)
  int64_t n_features;
  int64_t n_sets;
};

constexpr int64_t kMaxCount = int64_t(1) << 53;  // rows: an exact double, and sums of two are in range

// Whether f holds for all of n numbers. There is no early exit, so that the loop is vectorised.
template <class T, class F>
bool holds_for_all(const T* x, int64_t n, F&& f) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i) wrong += !f(x[i]);
  return wrong == 0;
}

// The first fault of the nodes, or null. No index is used before it is known to be in range.
inline const char* find_fault(const StoredNodes& nodes) {
  const int64_t n_nodes = nodes.begin[nodes.n_trees];
  auto is_number = [](double x) { return x == x; };
  if (!holds_for_all(nodes.threshold, n_nodes, is_number)) return fault("a threshold is not a number");
  if (!holds_for_all(nodes.gain, n_nodes, is_number)) return fault("a gain is not a number");
  if (!holds_for_all(nodes.count, n_nodes, [](int64_t x) { return x >= 0 && x <= kMaxCount; })) return fault("a count is out of range");
  if (!holds_for_all(nodes.missing_left, n_nodes, [](uint8_t x) { return x <= 1; })) return fault("missing_left is neither 0 nor 1");
  if (!holds_for_all(nodes.bin, n_nodes, [](int32_t x) { return x >= 0; })) return fault("a bin is out of range");
  int64_t set = 0;
  std::vector<uint8_t> parents;
  for (int64_t t = 0; t < nodes.n_trees; ++t) {
    const int64_t first = nodes.begin[t], n = nodes.begin[t + 1] - first;
    if (n <= 0) return fault("a tree has no nodes");
    parents.assign(size_t(n), 0);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = first + i;
      const int32_t f = nodes.feature[at];
      if (f < -1 || f >= nodes.n_features) return fault("a feature is out of range");
      if (f < 0) continue;
      const int64_t left = nodes.left[at], right = nodes.right[at];
      if (left <= i || left >= n) return fault("a left child is out of range");
      if (right <= i || right >= n) return fault("a right child is out of range");
      if (parents[left]++ || parents[right]++) return fault("a node has no parent, or two");
    }
    for (int64_t i = 1; i < n; ++i) {
      if (!parents[i]) return fault("a node has no parent, or two");
    }
    for (int64_t at = first; at < first + n; ++at) {
      const int32_t f = nodes.feature[at];
      if (f < 0) continue;
      if (nodes.kinds[f] != 0) {
        if (nodes.bin[at] != set++) return fault("a set of levels is missing, or one too many");
      } else if (nodes.bin[at] > nodes.cuts_begin[f + 1] - nodes.cuts_begin[f]) {
        return fault("a bin is out of range");
      }
    }
  }
  return set == nodes.n_sets ? nullptr : fault("a set of levels is missing, or one too many");
}

}  // namespace sapwood
