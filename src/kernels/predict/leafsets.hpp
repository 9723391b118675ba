// Finds the leaves of a tree that many rows reach, without walking.
//
// For each row there is a bit set of the leaves it may still reach; a node whose test a row fails removes the leaves to its left; after all
// nodes, the first leaf that remains is the row's own. The sets of 32 rows lie side by side, eight leaves to a plane of 32 bytes, so
// that one comparison and two logical operations serve 32 rows at once (Lucchese et al., QuickScorer, 2015; Ye et al., RapidScorer, 2018).
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sapwood {

inline constexpr int kSetRows = 64;    // of a block: two vectors
inline constexpr int kSetLeaves = 64;  // the most leaves of a tree; more are found in parts
inline constexpr int kPlaneLeaves = 8;

typedef int8_t i8x32 __attribute__((vector_size(32)));
typedef uint8_t u8x32 __attribute__((vector_size(32)));

inline i8x32 load32(const void* p) {
  i8x32 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline i8x32 fill32(int8_t x) { return i8x32{} + x; }

// For each byte, the number of its lowest set bit, or at least 128 where none is set.
inline void lowest_bits(i8x32 v, uint8_t* out) {
#if defined(__AVX2__)
  const __m256i low =
      _mm256_setr_epi8(-128, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, -128, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0);
  const __m256i high =
      _mm256_setr_epi8(-128, 4, 5, 4, 6, 4, 5, 4, 7, 4, 5, 4, 6, 4, 5, 4, -128, 4, 5, 4, 6, 4, 5, 4, 7, 4, 5, 4, 6, 4, 5, 4);
  const __m256i x = (__m256i)v, nibble = _mm256_set1_epi8(15);
  const __m256i a = _mm256_shuffle_epi8(low, _mm256_and_si256(x, nibble));
  const __m256i b = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
  _mm256_storeu_si256((__m256i*)out, _mm256_min_epu8(a, b));
#else
  for (int i = 0; i < 32; ++i) out[i] = v[i] ? uint8_t(__builtin_ctz(uint8_t(v[i]))) : 128;
#endif
}

// The leaves below each node of a tree, numbered from left to right.
//   children  node -> (left, right), left < 0 in a leaf; children come after their parents
struct LeafNumbers {
  std::vector<int> first, count;

  template <class Children>
  LeafNumbers(int n, Children&& children) : first(n, 0), count(n, 1) {
    for (int i = n - 1; i >= 0; --i) {
      const auto [left, right] = children(i);
      if (left >= 0) count[i] = count[left] + count[right];
    }
    for (int i = 0; i < n; ++i) {
      const auto [left, right] = children(i);
      if (left < 0) continue;
      first[left] = first[i];
      first[right] = first[i] + count[left];
    }
  }

  // Calls f(plane, leaves) for the planes that a node's left side touches, with its leaves there.
  template <class F>
  void visit_planes(int left, F&& f) const {
    for (int leaf = first[left], end = leaf + count[left]; leaf < end;) {
      const int plane = leaf / kPlaneLeaves;
      uint8_t leaves = 0;
      for (; leaf < end && leaf / kPlaneLeaves == plane; ++leaf) leaves |= uint8_t(1 << leaf % kPlaneLeaves);
      f(plane, leaves);
    }
  }
};

// The leaves of a block of rows.
//   tests        of the nodes of a tree, by plane: a row that fails cannot reach `leaves`  IN
//   plane_begin  (n_planes + 1,): where they begin                                       IN
//   evaluate     (test, fails_x, fails_y): all ones for the rows that fail, first 32 and last 32
//   leaf         (kSetRows,) uint8                                                       OUT
template <class NodeTest, class Evaluate>
inline void find_set_leaves(const NodeTest* tests, const int64_t* plane_begin, int n_planes, Evaluate&& evaluate, uint8_t* leaf) {
  for (int p = 0; p < n_planes; ++p) {
    alignas(32) uint8_t plane_leaf[kSetRows];
    i8x32 a = fill32(-1), b = a;
    for (const NodeTest* s = tests + plane_begin[p]; s < tests + plane_begin[p + 1]; ++s) {
      const i8x32 leaves = fill32(int8_t(s->leaves));
      i8x32 fails_x, fails_y;
      evaluate(*s, fails_x, fails_y);
      a &= ~(fails_x & leaves), b &= ~(fails_y & leaves);
    }
    uint8_t* found = p == 0 ? leaf : plane_leaf;
    lowest_bits(a, found);
    lowest_bits(b, found + 32);
    if (p == 0) continue;
    const uint8_t base = uint8_t(kPlaneLeaves * p);
    for (int i = 0; i < kSetRows; ++i) {
      const uint8_t here = uint8_t(plane_leaf[i] + base);
      leaf[i] = leaf[i] < here ? leaf[i] : here;
    }
  }
}

// The same for any number of leaves, 64 at a time: a row's own is in the first part where one is left.
//   leaf  (kSetRows,) uint16   OUT
template <class NodeTest, class Evaluate>
inline void find_many_leaves(const NodeTest* tests, const int64_t* plane_begin, int n_planes, Evaluate&& evaluate, uint16_t* leaf) {
  constexpr int kPlanes = kSetLeaves / kPlaneLeaves;
  for (int i = 0; i < kSetRows; ++i) leaf[i] = 0xffff;
  for (int p = 0; p < n_planes; p += kPlanes) {
    alignas(32) uint8_t part[kSetRows];
    find_set_leaves(tests, plane_begin + p, n_planes - p < kPlanes ? n_planes - p : kPlanes, evaluate, part);
    for (int i = 0; i < kSetRows; ++i) {
      const uint16_t here = part[i] < 128 ? uint16_t(p * kPlaneLeaves + part[i]) : uint16_t(0xffff);
      leaf[i] = leaf[i] < here ? leaf[i] : here;
    }
  }
}

}  // namespace sapwood
