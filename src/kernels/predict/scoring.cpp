#include "predict/scoring.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "bins/binning.hpp"
#include "core/pool.hpp"
#include "core/simd.hpp"
#include "predict/leafsets.hpp"

namespace sapwood {
namespace {

constexpr int kRows = kSetRows;
constexpr int kMaxCuts = 254;     // so that bins, and one for missing values, fit a byte
constexpr int kMaxLevels = 8;     // of a symmetric tree: its leaves are numbered by a byte
constexpr int kManyLeaves = 512;  // of a tree above which walking is faster than evaluating every node
constexpr int kTreesAtOnce = 8;   // whose values are added while a row's sum is in a register
constexpr int kTogether = 8;      // rows that walk together
constexpr int kFewRows = 16;      // below that, walking is faster than preparing a block

// For each byte all ones if it is not in the set.
//   codes  (32,), with the highest bit flipped   IN
inline i8x32 not_in_set(i8x32 codes, const LevelSet& set) {
#if defined(__AVX2__)
  // The byte of the set that holds a code's bit is one of 32: of the first 16 or, where the code is 128 or more, of the others.
  const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)set.bits));
  const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)(set.bits + 4)));
  const __m256i bit = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8,
                                       16, 32, 64, -128);
  const __m256i x = (__m256i)codes, at = _mm256_and_si256(_mm256_srli_epi16(x, 3), _mm256_set1_epi8(15));
  const __m256i byte = _mm256_blendv_epi8(_mm256_shuffle_epi8(high, at), _mm256_shuffle_epi8(low, at), x);
  const __m256i own = _mm256_and_si256(byte, _mm256_shuffle_epi8(bit, _mm256_and_si256(x, _mm256_set1_epi8(7))));
  return (i8x32)_mm256_cmpeq_epi8(own, _mm256_setzero_si256());
#else
  i8x32 out{};
  for (int i = 0; i < 32; ++i) out[i] = set.has(uint8_t(codes[i]) ^ 0x80) ? 0 : -1;
  return out;
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

// Nothing to undo: the next row overwrites it.
void unload_row(const Table&, int64_t, double*) {}

// The same of a sparse row, into zeros (or what stands for missing).
void load_row(const SparseMatrix& rows, int64_t row, double* out) {
  with_number(rows.type, [&](auto zero) {
    auto* x = static_cast<const decltype(zero)*>(rows.values);
    for (int64_t k = rows.indptr[row]; k < rows.indptr[row + 1]; ++k) out[rows.indices[k]] = double(x[k]);
  });
}

void unload_row(const SparseMatrix& rows, int64_t row, double* out) {
  for (int64_t k = rows.indptr[row]; k < rows.indptr[row + 1]; ++k) out[rows.indices[k]] = rows.absent();
}

double empty(const Table&) { return 0; }
double empty(const SparseMatrix& rows) { return rows.absent(); }

// The cut points that make bins of a category's levels: at least one, so that missing values have a bin of their own.
int cuts_of_levels(int n_levels) { return std::max(1, n_levels - 1); }

// The set by bins, that of missing values included. Numbers past the last level count as that one, as they do when rows are binned.
LevelSet set_of_bins(const LevelSet& set, int n_levels, bool missing_left) {
  LevelSet out;
  for (int bin = 0; bin < 256; ++bin) {
    if (bin <= cuts_of_levels(n_levels) ? set.has(std::min(bin, n_levels - 1)) : missing_left) out.add(bin);
  }
  return out;
}

// The level that a number stands for.
int level_of(double x, double last) { return x <= 0.5 ? 0 : int(std::min(std::ceil(x - 0.5), last)); }

int64_t item_size(char type) {
  int64_t size = 0;
  with_number(type, [&](auto zero) { size = sizeof zero; });
  return size;
}

}  // namespace

Scorer::Scorer(const TreeArrays& trees, const LeafArrays& leaves, int n_features, int n_outputs, const int32_t* n_levels_of)
    : n_features_(n_features),
      n_outputs_(n_outputs),
      n_values_(leaves.n_values),
      stride_(leaves.n_values == 1 ? 1 : (leaves.n_values + 3) / 4 * 4) {
  begin_.assign(trees.begin, trees.begin + trees.n_trees + 1);
  const int64_t n_nodes = begin_.back();
  nodes_.resize(n_nodes);
  values_.assign(leaves.value, leaves.value + n_nodes * n_values_);
  if (leaves.linear.n_slopes) slopes_ = Slopes(leaves.linear, n_nodes);
  inputs_ = LinearInputs(leaves.linear);
  std::vector<std::vector<double>> cuts(n_features);
  for (int i = 0; i < inputs_.size(); ++i) {
    auto& c = cuts[inputs_.feature[i]];
    c.insert(c.end(), inputs_.cuts.begin() + inputs_.begin[i], inputs_.cuts.begin() + inputs_.begin[i + 1]);
  }
  for (int64_t i = 0; i < n_nodes; ++i) {
    const int f = trees.feature[i];
    nodes_[i] = {trees.threshold[i], f, trees.left[i], trees.right[i], -1, trees.missing_left[i]};
    if (f < 0) continue;
    const int n_levels = n_levels_of ? n_levels_of[f] : 0;
    if (n_levels == 0) {
      cuts[f].push_back(trees.threshold[i]);
      continue;
    }
    nodes_[i].set = int32_t(sets_.size());
    nodes_[i].threshold = n_levels - 1;
    sets_.push_back(set_of_bins(trees.sets[trees.bin[i]], n_levels, trees.missing_left[i]));
    for (int bin = int(cuts[f].size()); bin < cuts_of_levels(n_levels); ++bin) cuts[f].push_back(bin + 0.5);
  }
  index_of_.assign(n_features, -1);
  cuts_begin_.push_back(0);
  for (int f = 0; f < n_features; ++f) {
    auto& c = cuts[f];
    if (c.empty()) continue;
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
    if (c.size() > kMaxCuts) binned_ = false;
    index_of_[f] = int(used_.size());
    used_.push_back(f);
    cuts_.insert(cuts_.end(), c.begin(), c.end());
    cuts_begin_.push_back(int64_t(cuts_.size()));
  }
  if (used_.size() > 65535) binned_ = false;
  if (!binned_) return;
  tabulate_inputs();

  leaf_begin_.push_back(0);
  tree_plane_.push_back(0);
  plane_begin_.push_back(0);
  level_begin_.push_back(0);
  step_begin_.push_back(0);
  std::vector<std::vector<NodeTest>> planes;  // of one tree
  for (int64_t t = 0; t < trees.n_trees; ++t) {
    const Walk* nodes = nodes_.data() + begin_[t];
    const int n = int(begin_[t + 1] - begin_[t]);
    const int n_levels = symmetric_levels(nodes, n);
    auto test_of = [&](const Walk& node) {
      const int used = index_of_[node.feature];
      if (node.set >= 0) return NodeTest{uint16_t(used), 0, 0, 0, node.set};
      const double* c = cuts_.data() + cuts_begin_[used];
      const double* end = cuts_.data() + cuts_begin_[used + 1];
      return NodeTest{uint16_t(used), int8_t(std::lower_bound(c, end, node.threshold) - c - 128), 0, node.missing_left, -1};
    };
    for (int level = 0; level < n_levels; ++level) level_list_.push_back(test_of(nodes[(1 << level) - 1]));
    level_begin_.push_back(int64_t(level_list_.size()));
    const LeafNumbers numbers(n, [&](int i) { return std::pair(nodes[i].feature < 0 ? -1 : nodes[i].left, nodes[i].right); });
    const int64_t leaves_at = leaf_begin_.back();
    leaf_values_.resize((leaves_at + numbers.count[0]) * stride_);
    if (!slopes_.empty()) leaf_nodes_.resize(leaves_at + numbers.count[0]);
    const bool walks = n_levels == 0 && numbers.count[0] > kManyLeaves;
    if (walks) add_steps(t, numbers);
    step_begin_.push_back(int64_t(step_list_.size()));
    const int n_planes = n_levels > 0 || walks ? 0 : (numbers.count[0] + kPlaneLeaves - 1) / kPlaneLeaves;
    if (int(planes.size()) < n_planes) planes.resize(n_planes);
    for (auto& plane : planes) plane.clear();
    for (int i = 0; i < n; ++i) {
      if (nodes[i].feature < 0) {
        std::copy_n(&values_[(begin_[t] + i) * n_values_], n_values_, &leaf_values_[(leaves_at + numbers.first[i]) * stride_]);
        if (!slopes_.empty()) leaf_nodes_[leaves_at + numbers.first[i]] = begin_[t] + i;
      } else if (n_planes > 0) {
        NodeTest condition = test_of(nodes[i]);
        numbers.visit_planes(nodes[i].left, [&](int plane, uint8_t leaves) {
          condition.leaves = leaves;
          planes[plane].push_back(condition);
        });
      }
    }
    leaf_begin_.push_back(leaves_at + numbers.count[0]);
    for (int p = 0; p < n_planes; ++p) {
      test_list_.insert(test_list_.end(), planes[p].begin(), planes[p].end());
      plane_begin_.push_back(int64_t(test_list_.size()));
    }
    tree_plane_.push_back(tree_plane_.back() + n_planes);
  }
}

// The values of inputs by the bins of a block.
void Scorer::tabulate_inputs() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  input_table_.assign(size_t(inputs_.size()) * 256, std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < inputs_.size(); ++i) {
    const int used = index_of_[inputs_.feature[i]];
    const int64_t first = cuts_begin_[used], n_cuts = cuts_begin_[used + 1] - first;
    for (int64_t bin = 0; bin <= n_cuts; ++bin) {
      input_table_[size_t(i) * 256 + bin] = inputs_.value(i, bin < n_cuts ? cuts_[first + bin] : kInfinity);
    }
  }
}

void Scorer::add_steps(int64_t tree, const LeafNumbers& numbers) {
  const int64_t first = int64_t(step_list_.size());
  for (int64_t i = begin_[tree]; i < begin_[tree + 1]; ++i) {
    const Walk& node = nodes_[i];
    const int32_t own = int32_t(first + i - begin_[tree]);
    step_leaf_.push_back(uint32_t(numbers.first[i - begin_[tree]]));
    if (node.feature < 0) {
      step_list_.push_back({0, 0, 0, -1, own, own});
      continue;
    }
    const int used = index_of_[node.feature];
    const double *c = cuts_.data() + cuts_begin_[used], *end = cuts_.data() + cuts_begin_[used + 1];
    const int8_t bin = int8_t(std::lower_bound(c, end, node.threshold) - c - 128);
    const int8_t missing = node.missing_left ? int8_t(end - c + 1 - 128) : bin;
    step_list_.push_back({uint16_t(used), bin, missing, node.set, int32_t(first) + node.left, int32_t(first) + node.right});
  }
}

// The leaves of a block of rows in a large tree, numbered from left to right.
void Scorer::walk_block(int64_t tree, const uint8_t* block, uint32_t* leaf) const {
  const Step* steps = step_list_.data();
  for (int row = 0; row < kRows; row += kTogether) {
    int32_t at[kTogether], moved = 1;
    for (int32_t& a : at) a = int32_t(step_begin_[tree]);
    while (moved) {
      moved = 0;
      for (int k = 0; k < kTogether; ++k) {
        const Step& s = steps[at[k]];
        const int8_t x = int8_t(block[size_t(s.feature) * kRows + row + k]);
        const bool left = s.set < 0 ? (x <= s.bin) | (x == s.missing) : sets_[s.set].has(uint8_t(x) ^ 0x80);
        const int32_t next = left ? s.left : s.right;
        moved |= next ^ at[k];
        at[k] = next;
      }
    }
    for (int k = 0; k < kTogether; ++k) leaf[row + k] = step_leaf_[at[k]];
  }
}

bool Scorer::same_test(const Walk& a, const Walk& b) const {
  if (a.feature != b.feature || (a.set < 0) != (b.set < 0)) return false;
  return a.set >= 0 ? sets_[a.set] == sets_[b.set] : a.threshold == b.threshold && a.missing_left == b.missing_left;
}

int Scorer::symmetric_levels(const Walk* nodes, int64_t n) const {
  int n_levels = 0;
  while ((int64_t(2) << n_levels) - 1 < n) ++n_levels;
  if (n_levels < 2 || n_levels > kMaxLevels || (int64_t(2) << n_levels) - 1 != n) return 0;
  for (int level = 0; level < n_levels; ++level) {
    const int first = (1 << level) - 1;
    for (int i = first; i <= 2 * first; ++i) {
      const Walk &a = nodes[first], &b = nodes[i];
      if (b.feature < 0 || !same_test(a, b)) return 0;
      if (b.left != 2 * i + 1 || b.right != 2 * i + 2) return 0;
    }
  }
  for (int64_t i = n / 2; i < n; ++i) {
    if (nodes[i].feature >= 0) return 0;
  }
  return n_levels;
}

[[gnu::always_inline]] inline bool Scorer::goes_left(const Walk& node, double x) const {
  if (x != x) return node.missing_left;
  return node.set < 0 ? x <= node.threshold : sets_[node.set].has(level_of(x, node.threshold));
}

[[gnu::always_inline]] inline int64_t Scorer::walk(int64_t tree, const double* row) const {
  const Walk* nodes = nodes_.data() + begin_[tree];
  int64_t i = 0;
  while (nodes[i].feature >= 0) {
    i = goes_left(nodes[i], row[nodes[i].feature]) ? nodes[i].left : nodes[i].right;
  }
  return i;
}

// The leaves of a few rows, (n, n_features): one step of each in turn.
void Scorer::walk_together(int64_t tree, const double* rows, int n, int64_t* leaf) const {
  const Walk* nodes = nodes_.data() + begin_[tree];
  std::fill(leaf, leaf + n, 0);
  for (bool moved = nodes[0].feature >= 0; moved;) {
    moved = false;
    for (int r = 0; r < n; ++r) {
      const Walk& node = nodes[leaf[r]];
      if (node.feature < 0) continue;
      leaf[r] = goes_left(node, rows[r * n_features_ + node.feature]) ? node.left : node.right;
      moved = true;
    }
  }
}

void Scorer::load(const Table& table, int64_t begin, int64_t n, std::vector<double>& columns) const {
  columns.resize(size_t(n_features_) * n);
  with_number(table.type, [&](auto zero) {
    auto* x = static_cast<const decltype(zero)*>(table.data) + begin * table.row_stride;
    for (int64_t i = 0; i < n; ++i) {
      for (int f = 0; f < n_features_; ++f) columns[f * n + i] = double(x[i * table.row_stride + f * table.column_stride]);
    }
  });
}

void Scorer::decide(int64_t tree, const double* columns, int64_t n, uint8_t* left) const {
  for (int64_t k = begin_[tree]; k < begin_[tree + 1]; ++k, left += n) {
    const Walk& node = nodes_[k];
    if (node.feature < 0) continue;
    const double* x = columns + node.feature * n;
    for (int64_t i = 0; i < n; ++i) left[i] = goes_left(node, x[i]);
  }
}

template <class Source>
void Scorer::add_walking(const Source& source, int64_t begin, int64_t end, int64_t first, int64_t last, double* out) const {
  double few[256];
  const int64_t n_together = std::min<int64_t>(end - begin, kTogether), size = n_together * n_features_;
  std::vector<double> many(size > 256 ? size : 0), inputs(size_t(n_together) * inputs_.size());
  double* rows = size > 256 ? many.data() : few;
  std::fill(rows, rows + size, empty(source));
  for (int64_t i = begin; i < end; i += n_together) {
    const int n = int(std::min(n_together, end - i));
    for (int r = 0; r < n; ++r) load_row(source, i + r, rows + r * n_features_);
    for (int k = 0; k < inputs_.size(); ++k) {
      for (int r = 0; r < n; ++r) inputs[r * inputs_.size() + k] = inputs_.value(k, rows[r * n_features_ + inputs_.feature[k]]);
    }
    for (int64_t t = first; t < last; ++t) {
      int64_t leaf[kTogether];
      n == 1 ? void(leaf[0] = walk(t, rows)) : walk_together(t, rows, n, leaf);
      for (int r = 0; r < n; ++r) {
        const int64_t node = begin_[t] + leaf[r];
        const double* values = values_.data() + node * n_values_;
        double* to = out + (i + r) * n_outputs_ + (n_values_ == 1 ? t % n_outputs_ : 0);
        if (!slopes_.empty()) {
          *to += linear_value(*values, slopes_.of(node), slopes_.end_of(node), inputs.data() + r * inputs_.size(), 1);
          continue;
        }
        for (int k = 0; k < n_values_; ++k) to[k] += values[k];
      }
    }
    for (int r = 0; r < n; ++r) unload_row(source, i + r, rows + r * n_features_);
  }
}

// Adds the values of the leaves that n rows reach in a tree. Sums are (n_outputs, kRows) where a leaf has one value, else (kRows, stride).
//   inputs  (n_inputs, kRows) of linear leaves   IN
template <class Leaf>
void Scorer::add_leaves(int64_t tree, const Leaf* leaf, int n, const double* inputs, double* sums) const {
  const double* values = leaf_values_.data() + leaf_begin_[tree] * stride_;
  if (!slopes_.empty()) {
    const int64_t* nodes = leaf_nodes_.data() + leaf_begin_[tree];
    double* s = sums + tree % n_outputs_ * kRows;
    for (int i = 0; i < n; ++i) {
      s[i] += linear_value(values[leaf[i]], slopes_.of(nodes[leaf[i]]), slopes_.end_of(nodes[leaf[i]]), inputs + i, kRows);
    }
    return;
  }
  if (n_values_ == 1) {
    double* s = sums + tree % n_outputs_ * kRows;
    for (int i = 0; i < n; ++i) s[i] += values[leaf[i]];
    return;
  }
  for (int i = 0; i < n; ++i) {
    double* s = sums + i * stride_;
    const double* v = values + int64_t(leaf[i]) * stride_;
    for (int k = 0; k < stride_; k += 4) store4(s + k, load4(s + k) + load4(v + k));
  }
}

void Scorer::bin_block(const Table& table, int64_t at, int n, uint8_t* block, uint8_t* missing) const {
  const int n_used = int(used_.size());
  const int64_t size = item_size(table.type);
  const char* rows = static_cast<const char*>(table.data) + at * table.row_stride * size;
  for (int f = 0; f < n_used;) {
    // A run of used features that are neighbours in the table.
    int run = f + 1;
    while (run < n_used && used_[run] == used_[run - 1] + 1) ++run;
    bin_values(table.type, rows + used_[f] * table.column_stride * size, table.row_stride, table.column_stride, n, run - f,
               Cuts{cuts_.data(), cuts_begin_.data() + f}, block + size_t(f) * kRows, 1, kRows, missing + f);
    f = run;
  }
}

void Scorer::bin_block(const SparseMatrix& rows, int64_t at, int n, uint8_t* block, uint8_t* missing) const {
  auto bin = [&](int f, double x) {
    const int n_cuts = int(cuts_begin_[f + 1] - cuts_begin_[f]), b = bin_of(cuts_.data() + cuts_begin_[f], n_cuts, x);
    missing[f] |= b == n_cuts + 1;
    return uint8_t(b);
  };
  for (int f = 0; f < int(used_.size()); ++f) std::memset(block + size_t(f) * kRows, bin(f, rows.absent()), kRows);
  with_number(rows.type, [&](auto zero) {
    auto* x = static_cast<const decltype(zero)*>(rows.values);
    for (int i = 0; i < n; ++i) {
      for (int64_t k = rows.indptr[at + i]; k < rows.indptr[at + i + 1]; ++k) {
        const int32_t f = index_of_[rows.indices[k]];
        if (f >= 0) block[size_t(f) * kRows + i] = bin(f, double(x[k]));
      }
    }
  });
}

// Adds trees to the sums of a block of n rows, as `add_leaves` does.
template <class Evaluate>
void Scorer::add_block(int64_t first, int64_t last, const uint8_t* block, const double* inputs, int n, Evaluate&& evaluate,
                       double* sums) const {
  // Sums stay in registers while several trees are added, each row's in their order.
  const int most = n_values_ == 1 && n_outputs_ == 1 && slopes_.empty() ? kTreesAtOnce : 1;
  alignas(32) uint8_t leaves[kTreesAtOnce][kRows];
  int n_found = 0;
  auto add_found = [&](int64_t end) {
    if (n_found == kTreesAtOnce) {
      const double* values[kTreesAtOnce];
      for (int k = 0; k < kTreesAtOnce; ++k) values[k] = leaf_values_.data() + leaf_begin_[end - kTreesAtOnce + k];
      for (int i = 0; i < n; ++i) {
        double sum = sums[i];
#pragma GCC unroll 8
        for (int k = 0; k < kTreesAtOnce; ++k) sum += values[k][leaves[k][i]];
        sums[i] = sum;
      }
    } else {
      for (int k = 0; k < n_found; ++k) add_leaves(end - n_found + k, leaves[k], n, inputs, sums);
    }
    n_found = 0;
  };
  for (int64_t t = first; t < last; ++t) {
    const int n_planes = int(tree_plane_[t + 1] - tree_plane_[t]);
    const int64_t* planes = plane_begin_.data() + tree_plane_[t];
    if (step_begin_[t] < step_begin_[t + 1]) {
      uint32_t leaf[kRows];
      add_found(t);
      walk_block(t, block, leaf);
      add_leaves(t, leaf, n, inputs, sums);
      continue;
    }
    if (n_planes > kSetLeaves / kPlaneLeaves) {
      alignas(32) uint16_t leaf[kRows];
      add_found(t);
      find_many_leaves(test_list_.data(), planes, n_planes, evaluate, leaf);
      add_leaves(t, leaf, n, inputs, sums);
      continue;
    }
    uint8_t* leaf = leaves[n_found];
    if (level_begin_[t] < level_begin_[t + 1]) {
      i8x32 a = fill32(0), b = a;
      for (int64_t level = level_begin_[t]; level < level_begin_[t + 1]; ++level) {
        i8x32 right_x, right_y;
        evaluate(level_list_[level], right_x, right_y);
        a = a + a - right_x, b = b + b - right_y;  // all ones is -1
      }
      std::memcpy(leaf, &a, sizeof a);
      std::memcpy(leaf + 32, &b, sizeof b);
    }
    find_set_leaves(test_list_.data(), planes, n_planes, evaluate, leaf);
    if (++n_found == most) add_found(t + 1);
  }
  add_found(last);
}

template <class Source>
void Scorer::add_blocks(const Source& source, int64_t begin, int64_t end, int64_t first, int64_t last, double* out) const {
  const int n_used = int(used_.size());
  std::vector<uint8_t> block(size_t(std::max(1, n_used)) * kRows);
  std::vector<uint8_t> missing(n_used);
  std::vector<double> inputs(size_t(inputs_.size()) * kRows);
  std::vector<double> sums(size_t(n_values_ == 1 ? n_outputs_ : stride_) * kRows);
  const int row_step = n_values_ == 1 ? 1 : stride_, output_step = n_values_ == 1 ? kRows : 1;  // see add_leaves
  for (int64_t at = begin; at < end; at += kRows) {
    const int n = int(std::min<int64_t>(kRows, end - at));
    std::fill(missing.begin(), missing.end(), 0);
    bin_block(source, at, n, block.data(), missing.data());
    for (int k = 0; k < inputs_.size(); ++k) {
      const uint8_t* bins = block.data() + size_t(index_of_[inputs_.feature[k]]) * kRows;
      for (int i = 0; i < kRows; ++i) inputs[size_t(k) * kRows + i] = input_table_[size_t(k) * 256 + bins[i]];
    }
    for (uint8_t& b : block) b ^= 0x80;  // so that a signed comparison orders them
    for (int k = 0; k < n_outputs_; ++k) {
      for (int i = 0; i < n; ++i) sums[size_t(k) * output_step + i * row_step] = out[(at + i) * n_outputs_ + k];
    }
    // All ones for the rows that go right.
    auto test_number = [&](const NodeTest& s, i8x32& right_x, i8x32& right_y) {
      const uint8_t* bins = block.data() + size_t(s.feature) * kRows;
      const i8x32 bin = fill32(s.bin);
      right_x = load32(bins) > bin, right_y = load32(bins + 32) > bin;
    };
    auto test_any = [&](const NodeTest& s, i8x32& right_x, i8x32& right_y) {
      const uint8_t* bins = block.data() + size_t(s.feature) * kRows;
      const i8x32 x = load32(bins), y = load32(bins + 32);
      if (s.set >= 0) {
        right_x = not_in_set(x, sets_[s.set]), right_y = not_in_set(y, sets_[s.set]);
        return;
      }
      test_number(s, right_x, right_y);
      if (missing[s.feature] && s.missing_left) {
        const i8x32 code = fill32(int8_t(cuts_begin_[s.feature + 1] - cuts_begin_[s.feature] + 1 - 128));
        right_x &= x != code, right_y &= y != code;
      }
    };
    const bool plain = sets_.empty() && std::find(missing.begin(), missing.end(), 1) == missing.end();
    plain ? add_block(first, last, block.data(), inputs.data(), n, test_number, sums.data())
          : add_block(first, last, block.data(), inputs.data(), n, test_any, sums.data());
    for (int k = 0; k < n_outputs_; ++k) {
      for (int i = 0; i < n; ++i) out[(at + i) * n_outputs_ + k] = sums[size_t(k) * output_step + i * row_step];
    }
  }
}

template <class Source>
void Scorer::add_any(const Source& source, int64_t n_rows, int64_t first, int64_t last, int n_threads, double* out) const {
  if (first >= last) return;
  if (n_rows < kFewRows) return add_walking(source, 0, n_rows, first, last, out);
  // Several blocks make a task.
  const int64_t rows = std::clamp<int64_t>(n_rows / (8 * n_threads) / kRows * kRows, kRows, 64 * kRows);
  const int64_t n_tasks = (n_rows + rows - 1) / rows;
  if (n_rows * (last - first) < 20000) n_threads = 1;
  parallel(n_threads, n_tasks, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const int64_t begin = task * rows, end = std::min(n_rows, begin + rows);
      binned_ ? add_blocks(source, begin, end, first, last, out) : add_walking(source, begin, end, first, last, out);
    }
  });
}

void Scorer::add(const Table& table, int64_t first, int64_t last, int n_threads, double* out) const {
  add_any(table, table.n_rows, first, last, n_threads, out);
}

void Scorer::add(const SparseMatrix& rows, int64_t first, int64_t last, int n_threads, double* out) const {
  add_any(rows, rows.n_major, first, last, n_threads, out);
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
