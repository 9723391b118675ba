#include "scoring.hpp"

#include <algorithm>
#include <cstring>

#include "binning.hpp"
#include "pool.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sapwood {
namespace {

constexpr int kRows = 64;  // of a block: two vectors
constexpr int kMaxLeaves = 64;
constexpr int kMaxPlanes = kMaxLeaves / 8;
constexpr int kMaxCuts = 254;  // so that bins, and one for missing values, fit a byte
constexpr int kMaxLevels = 8;  // of a symmetric tree: its leaves are numbered by a byte
constexpr int kFewRows = 16;   // below that, walking is faster than preparing a block

typedef int8_t i8x32 __attribute__((vector_size(32)));

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

// One row of a table as doubles.
void load_row(const Table& table, int64_t row, double* out) {
  auto copy = [&](auto zero) {
    auto* x = static_cast<const decltype(zero)*>(table.data) + row * table.row_stride;
    for (int f = 0; f < table.n_columns; ++f) out[f] = double(x[f * table.column_stride]);
  };
  with_number(table.type, copy);
}

int64_t item_size(char type) {
  int64_t size = 0;
  with_number(type, [&](auto zero) { size = sizeof zero; });
  return size;
}

}  // namespace

Scorer::Scorer(const Trees& trees, int n_features, int n_outputs) : n_features_(n_features), n_outputs_(n_outputs) {
  begin_.assign(trees.begin, trees.begin + trees.n_trees + 1);
  const int64_t n_nodes = begin_.back();
  nodes_.resize(n_nodes);
  values_.assign(trees.value, trees.value + n_nodes);
  std::vector<std::vector<double>> cuts(n_features);
  for (int64_t i = 0; i < n_nodes; ++i) {
    nodes_[i] = {trees.threshold[i], trees.feature[i], trees.left[i], trees.right[i], trees.missing_left[i]};
    if (trees.feature[i] >= 0) cuts[trees.feature[i]].push_back(trees.threshold[i]);
  }
  std::vector<int> used_index(n_features, -1);
  cuts_begin_.push_back(0);
  for (int f = 0; f < n_features; ++f) {
    auto& c = cuts[f];
    if (c.empty()) continue;
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
    if (c.size() > kMaxCuts) strikes_ = false;
    used_index[f] = int(used_.size());
    used_.push_back(f);
    cuts_.insert(cuts_.end(), c.begin(), c.end());
    cuts_begin_.push_back(int64_t(cuts_.size()));
  }
  for (int64_t t = 0; t < trees.n_trees; ++t) {
    const int64_t n_leaves = (begin_[t + 1] - begin_[t] + 1) / 2;
    if (n_leaves > kMaxLeaves && !symmetric_levels(nodes_.data() + begin_[t], begin_[t + 1] - begin_[t])) strikes_ = false;
  }
  if (used_.size() > 65535) strikes_ = false;
  if (!strikes_) return;

  leaf_begin_.push_back(0);
  tree_plane_.push_back(0);
  plane_begin_.push_back(0);
  level_begin_.push_back(0);
  for (int64_t t = 0; t < trees.n_trees; ++t) {
    const Walk* nodes = nodes_.data() + begin_[t];
    const int n = int(begin_[t + 1] - begin_[t]);
    const int n_levels = symmetric_levels(nodes, n);
    auto strike = [&](const Walk& node) {
      const int used = used_index[node.feature];
      const double* c = cuts_.data() + cuts_begin_[used];
      const double* end = cuts_.data() + cuts_begin_[used + 1];
      return Strike{uint16_t(used), int8_t(std::lower_bound(c, end, node.threshold) - c - 128), 0, node.missing_left};
    };
    for (int level = 0; level < n_levels; ++level) level_list_.push_back(strike(nodes[(1 << level) - 1]));
    level_begin_.push_back(int64_t(level_list_.size()));
    // Leaves below each node; children come after their parents.
    std::vector<int> n_leaves(n, 1), first_leaf(n, 0);
    for (int i = n - 1; i >= 0; --i) {
      if (nodes[i].feature >= 0) n_leaves[i] = n_leaves[nodes[i].left] + n_leaves[nodes[i].right];
    }
    const int64_t leaves_at = leaf_begin_.back();
    leaf_values_.resize(leaves_at + n_leaves[0]);
    std::vector<Strike> planes[kMaxPlanes];
    for (int i = 0; i < n; ++i) {
      if (nodes[i].feature < 0) {
        leaf_values_[leaves_at + first_leaf[i]] = values_[begin_[t] + i];
        continue;
      }
      first_leaf[nodes[i].left] = first_leaf[i];
      first_leaf[nodes[i].right] = first_leaf[i] + n_leaves[nodes[i].left];
      if (n_levels > 0) continue;
      const Strike condition = strike(nodes[i]);
      for (int leaf = first_leaf[i]; leaf < first_leaf[nodes[i].right]; ++leaf) {
        auto& plane = planes[leaf / 8];
        if (leaf == first_leaf[i] || leaf % 8 == 0) plane.push_back(condition);
        plane.back().leaves |= uint8_t(1 << leaf % 8);
      }
    }
    leaf_begin_.push_back(int64_t(leaf_values_.size()));
    const int n_planes = n_levels > 0 ? 0 : (n_leaves[0] + 7) / 8;
    for (int p = 0; p < n_planes; ++p) {
      strike_list_.insert(strike_list_.end(), planes[p].begin(), planes[p].end());
      plane_begin_.push_back(int64_t(strike_list_.size()));
    }
    tree_plane_.push_back(tree_plane_.back() + n_planes);
  }
}

int Scorer::symmetric_levels(const Walk* nodes, int64_t n) {
  int n_levels = 0;
  while ((int64_t(2) << n_levels) - 1 < n) ++n_levels;
  if (n_levels < 2 || n_levels > kMaxLevels || (int64_t(2) << n_levels) - 1 != n) return 0;
  for (int level = 0; level < n_levels; ++level) {
    const int first = (1 << level) - 1;
    for (int i = first; i <= 2 * first; ++i) {
      const Walk &a = nodes[first], &b = nodes[i];
      if (b.feature < 0 || b.feature != a.feature || b.threshold != a.threshold || b.missing_left != a.missing_left) return 0;
      if (b.left != 2 * i + 1 || b.right != 2 * i + 2) return 0;
    }
  }
  for (int64_t i = n / 2; i < n; ++i) {
    if (nodes[i].feature >= 0) return 0;
  }
  return n_levels;
}

int64_t Scorer::walk(int64_t tree, const double* row) const {
  const Walk* nodes = nodes_.data() + begin_[tree];
  int64_t i = 0;
  while (nodes[i].feature >= 0) {
    const double x = row[nodes[i].feature];
    const bool left = x != x ? nodes[i].missing_left : x <= nodes[i].threshold;
    i = left ? nodes[i].left : nodes[i].right;
  }
  return i;
}

void Scorer::add_walking(const Table& table, int64_t begin, int64_t end, int64_t first, int64_t last, double* out) const {
  double few[256];
  std::vector<double> many(n_features_ > 256 ? n_features_ : 0);
  double* row = n_features_ > 256 ? many.data() : few;
  for (int64_t i = begin; i < end; ++i) {
    load_row(table, i, row);
    double* sums = out + i * n_outputs_;
    for (int64_t t = first; t < last; ++t) sums[t % n_outputs_] += values_[begin_[t] + walk(t, row)];
  }
}

void Scorer::add_striking(const Table& table, int64_t begin, int64_t end, int64_t first, int64_t last, double* out) const {
  const int n_used = int(used_.size());
  std::vector<uint8_t> block(size_t(std::max(1, n_used)) * kRows);
  std::vector<uint8_t> missing(n_used);
  std::vector<double> sums(size_t(n_outputs_) * kRows);
  const int64_t size = item_size(table.type);
  for (int64_t at = begin; at < end; at += kRows) {
    const int n = int(std::min<int64_t>(kRows, end - at));
    std::fill(missing.begin(), missing.end(), 0);
    const char* rows = static_cast<const char*>(table.data) + at * table.row_stride * size;
    for (int f = 0; f < n_used;) {
      // A run of used features that are neighbours in the table.
      int run = f + 1;
      while (run < n_used && used_[run] == used_[run - 1] + 1) ++run;
      bin_values(table.type, rows + used_[f] * table.column_stride * size, table.row_stride, table.column_stride, n, run - f,
                 Cuts{cuts_.data(), cuts_begin_.data() + f}, block.data() + size_t(f) * kRows, 1, kRows, missing.data() + f);
      f = run;
    }
    for (uint8_t& b : block) b ^= 0x80;  // so that a signed comparison orders them
    for (int k = 0; k < n_outputs_; ++k) {
      for (int i = 0; i < n; ++i) sums[size_t(k) * kRows + i] = out[(at + i) * n_outputs_ + k];
    }
    // All ones for the rows that go right.
    auto ask = [&](const Strike& s, i8x32& right_x, i8x32& right_y) {
      const uint8_t* bins = block.data() + size_t(s.feature) * kRows;
      const i8x32 bin = fill32(s.bin), x = load32(bins), y = load32(bins + 32);
      right_x = x > bin, right_y = y > bin;
      if (missing[s.feature] && s.missing_left) {
        const i8x32 code = fill32(int8_t(cuts_begin_[s.feature + 1] - cuts_begin_[s.feature] + 1 - 128));
        right_x &= x != code, right_y &= y != code;
      }
    };
    for (int64_t t = first; t < last; ++t) {
      alignas(32) uint8_t leaf[kRows], plane_leaf[kRows];
      if (level_begin_[t] < level_begin_[t + 1]) {
        i8x32 a = fill32(0), b = a;
        for (int64_t level = level_begin_[t]; level < level_begin_[t + 1]; ++level) {
          i8x32 right_x, right_y;
          ask(level_list_[level], right_x, right_y);
          a = a + a - right_x, b = b + b - right_y;  // all ones is -1
        }
        std::memcpy(leaf, &a, sizeof a);
        std::memcpy(leaf + 32, &b, sizeof b);
      }
      for (int64_t p = tree_plane_[t]; p < tree_plane_[t + 1]; ++p) {
        i8x32 a = fill32(-1), b = a;
        for (const Strike* s = strike_list_.data() + plane_begin_[p]; s < strike_list_.data() + plane_begin_[p + 1]; ++s) {
          const i8x32 leaves = fill32(int8_t(s->leaves));
          i8x32 fails_x, fails_y;
          ask(*s, fails_x, fails_y);
          a &= ~(fails_x & leaves), b &= ~(fails_y & leaves);
        }
        uint8_t* found = p == tree_plane_[t] ? leaf : plane_leaf;
        lowest_bits(a, found);
        lowest_bits(b, found + 32);
        if (found == plane_leaf) {
          const uint8_t base = uint8_t(8 * (p - tree_plane_[t]));
          for (int i = 0; i < kRows; ++i) {
            const uint8_t here = uint8_t(plane_leaf[i] + base);
            leaf[i] = leaf[i] < here ? leaf[i] : here;
          }
        }
      }
      const double* values = leaf_values_.data() + leaf_begin_[t];
      double* s = sums.data() + size_t(t % n_outputs_) * kRows;
      for (int i = 0; i < n; ++i) s[i] += values[leaf[i]];
    }
    for (int k = 0; k < n_outputs_; ++k) {
      for (int i = 0; i < n; ++i) out[(at + i) * n_outputs_ + k] = sums[size_t(k) * kRows + i];
    }
  }
}

void Scorer::add(const Table& table, int64_t first, int64_t last, int n_threads, double* out) const {
  if (first >= last) return;
  if (table.n_rows < kFewRows) return add_walking(table, 0, table.n_rows, first, last, out);
  // Several blocks make a task.
  const int64_t rows = std::clamp<int64_t>(table.n_rows / (8 * n_threads) / kRows * kRows, kRows, 64 * kRows);
  const int64_t n_tasks = (table.n_rows + rows - 1) / rows;
  if (table.n_rows * (last - first) < 20000) n_threads = 1;
  parallel(n_threads, n_tasks, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const int64_t begin = task * rows, end = std::min(table.n_rows, begin + rows);
      strikes_ ? add_striking(table, begin, end, first, last, out) : add_walking(table, begin, end, first, last, out);
    }
  });
}

void Scorer::leaves(const Table& table, int64_t first, int64_t last, int n_threads, int32_t* out) const {
  constexpr int64_t rows = 1024;
  parallel(n_threads, (table.n_rows + rows - 1) / rows, [&](int, Tasks& tasks) {
    std::vector<double> row(n_features_);
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      for (int64_t i = task * rows; i < std::min(table.n_rows, (task + 1) * rows); ++i) {
        load_row(table, i, row.data());
        for (int64_t t = first; t < last; ++t) out[i * (last - first) + t - first] = int32_t(walk(t, row.data()));
      }
    }
  });
}

}  // namespace sapwood
