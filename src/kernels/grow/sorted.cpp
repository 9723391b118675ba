#include "grow/sorted.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>

#include "core/hash.hpp"
#include "core/pool.hpp"
#include "grow/histogram.hpp"
#include "grow/scatter.hpp"

namespace sapwood {
namespace {

constexpr int64_t kSerialWork = 20000;  // (row, feature) pairs below which threads cost more than they save
constexpr int kAtOnce = 256;            // candidates compared at a time
constexpr int64_t kFetch = 24;          // rows whose gradients are prefetched

}  // namespace

SortedTree::SortedTree(std::vector<const Ranked*> columns, std::vector<int64_t> n_values, int64_t n_rows, int n_threads, Proposal proposal,
                       int n_quantiles)
    : columns_(std::move(columns)),
      n_values_(std::move(n_values)),
      n_rows_(n_rows),
      n_threads_(std::max(1, n_threads)),
      proposal_(proposal),
      n_quantiles_(n_quantiles) {
  if (proposal_ == Proposal::kGlobal) proposed_.resize(columns_.size());
  lists_.resize(columns_.size() * size_t(n_rows_));
  left_.resize(size_t(n_rows_));
  spare_.resize(n_threads_);
}

Sums SortedTree::cell(uint32_t row) const {
  int64_t g = 0, word = 0;
  cell_of(gradients_, row, format_, g, word);
  return {g, word >> format_.count_bits, 1};
}

void SortedTree::start(void* gradients, const TreeSettings& settings, const uint8_t* allowed, const int64_t* sample, int64_t n_sample) {
  format_ = settings.format;
  gradients_ = gradients;
  sampled_ = sample != nullptr;
  nodes_.start(settings);
  if (format_.gradients == GradientFormat::kNarrow) narrow_gradients(static_cast<Pair*>(gradients), n_rows_, row_key(settings.key, 0), 0);
  if (sampled_) {
    std::fill(left_.begin(), left_.end(), 0);
    for (int64_t i = 0; i < n_sample; ++i) left_[sample[i]] = 1;
    parallel(n_threads_, n_features(), [&](int, Tasks& tasks) {
      for (int64_t f; (f = tasks.claim()) >= 0;) {
        Ranked* to = make_list(int(f));
        for (int64_t i = 0; i < n_rows_; ++i) {
          *to = columns_[f][i];
          to += left_[columns_[f][i].row];
        }
      }
    });
  }
  ranges_.assign(1, {0, sampled_ ? n_sample : n_rows_});
  Sums sums;
  for (int64_t i = 0; i < size(0); ++i) {
    const Sums one = cell(sampled_ ? uint32_t(sample[i]) : uint32_t(i));
    sums = {sums.g + one.g, sums.h + one.h, sums.count + 1};
  }
  nodes_.set_root_sums(sums);
  if (proposal_ == Proposal::kGlobal) {
    parallel(n_rows_ * n_features() < kSerialWork ? 1 : n_threads_, n_features(), [&](int, Tasks& tasks) {
      for (int64_t f; (f = tasks.claim()) >= 0;) propose(int(f));
    });
  }
  search({0}, allowed, 0);
}

int SortedTree::advance(const std::vector<int>& nodes, bool search, const uint8_t* allowed) {
  const int first = nodes_.add_children(nodes.size());
  ranges_.resize(nodes_.size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes_.make_children(nodes[i], first + 2 * int(i));
  partition(nodes);
  if (search) {
    std::vector<int> children;
    for (int node = first; node < int(nodes_.size()); ++node) children.push_back(node);
    this->search(children, allowed, first);
  }
  return first;
}

// Partitions the sorted lists of nodes between their children.
void SortedTree::partition(const std::vector<int>& nodes) {
  int64_t n_all = 0;
  for (int node : nodes) {
    const Split& split = nodes_[node].split;
    const Ranked* rows = list(split.feature, node);
    int64_t n_left = 0;
    for (int64_t i = 0; i < size(node); ++i) n_left += left_[rows[i].row] = goes_left(split, rows[i].rank);
    const Range range = ranges_[node];
    ranges_[nodes_[node].left] = {range.begin, range.begin + n_left};
    ranges_[nodes_[node].right] = {range.begin + n_left, range.end};
    n_all += size(node);
  }
  const int n_threads = n_all * n_features() < kSerialWork ? 1 : n_threads_;
  parallel(n_threads, int64_t(nodes.size()) * n_features(), [&](int participant, Tasks& tasks) {
    std::vector<Ranked>& spare = spare_[participant];
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const int node = nodes[task / n_features()], feature = int(task % n_features());
      const int64_t n = size(node);
      if (int64_t(spare.size()) < n) spare.resize(n);
      const Ranked* from = list(feature, node);
      Ranked* to = make_list(feature) + ranges_[node].begin;  // where `from` is, but for the root
      int64_t n_left = 0, n_right = 0;
      for (int64_t i = 0; i < n; ++i) {
        const Ranked r = from[i];
        const uint8_t side = left_[r.row];
        to[n_left] = r;
        spare[n_right] = r;
        n_left += side;
        n_right += 1 - side;
      }
      std::memcpy(to + n_left, spare.data(), size_t(n_right) * sizeof(Ranked));
    }
  });
}

void SortedTree::search(const std::vector<int>& nodes, const uint8_t* allowed, int first) {
  std::vector<int> able;
  int64_t n_all = 0;
  for (int node : nodes) {
    if (!nodes_.can_split(nodes_[node])) continue;
    able.push_back(node);
    n_all += size(node);
  }
  if (able.empty()) return;
  const int n_threads = n_all * n_features() < kSerialWork ? 1 : n_threads_;
  std::vector<Split> best(able.size() * n_threads);
  parallel(n_threads, int64_t(able.size()) * n_features(), [&](int participant, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const size_t k = size_t(task / n_features());
      const int node = able[k], feature = int(task % n_features());
      if (allowed && !allowed[size_t(node - first) * n_features() + feature]) continue;
      Split split;
      scan(node, feature, split);
      split.feature = feature;
      nodes_.compare(split, node, best[k * n_threads + participant]);
    }
  });
  for (size_t k = 0; k < able.size(); ++k) {
    Split top;
    for (int t = 0; t < n_threads; ++t) {
      const Split& split = best[k * n_threads + t];
      if (split.gain > 0 && (top.gain <= 0 || better(split, top))) top = split;
    }
    nodes_.set_split(able[k], top);
  }
}

// Calls f(rank, sums of all rows up to it) for each value of the node's first n rows of a list.
template <class F>
void SortedTree::visit_values(int node, int feature, int64_t n, F&& f) const {
  const Ranked* rows = list(feature, node);
  const size_t gradient_size = format_.gradients == GradientFormat::kSingle ? sizeof(Single) : sizeof(Pair);
  Sums sums;
  for (int64_t i = 0; i < n; ++i) {
    if (i + kFetch < n) prefetch(static_cast<const char*>(gradients_) + size_t(rows[i + kFetch].row) * gradient_size);
    const Sums one = cell(rows[i].row);
    sums = {sums.g + one.g, sums.h + one.h, sums.count + 1};
    if (i + 1 == n || rows[i + 1].rank != rows[i].rank) f(rows[i].rank, sums, i + 1 == n);
  }
}

// Where in so many equal parts of the whole hessian a sum is.
inline int64_t quantile_of(const Sums& sums, const Sums& whole, int n_quantiles) {
  return whole.h > 0 ? int64_t(double(sums.h) * double(n_quantiles) / double(whole.h)) : 0;
}

// Marks the values at which a quantile of the root's hessian is reached.
void SortedTree::propose(int feature) {
  std::vector<uint8_t>& proposed = proposed_[feature];
  proposed.assign(size_t(n_values_[feature]), 0);
  const Ranked* rows = list(feature, 0);
  int64_t n = size(0);
  while (n > 0 && rows[n - 1].rank == kMissingRank) --n;
  Sums whole;
  visit_values(0, feature, n, [&](uint32_t, const Sums& sums, bool) { whole = sums; });
  int64_t last = 0;
  visit_values(0, feature, n, [&](uint32_t rank, const Sums& sums, bool) {
    const int64_t quantile = quantile_of(sums, whole, n_quantiles_);
    proposed[rank] = quantile > last;
    last = quantile;
  });
}

// The best split of a node on a feature.
void SortedTree::scan(int node, int feature, Split& best) const {
  const Ranked* rows = list(feature, node);
  int64_t n = size(node);
  Sums missing;
  for (; n > 0 && rows[n - 1].rank == kMissingRank; --n) {
    const Sums one = cell(rows[n - 1].row);
    missing = {missing.g + one.g, missing.h + one.h, missing.count + 1};
  }
  const SearchContext context = nodes_.context(node, uint32_t(feature));
  const Sums& all = nodes_[node].sums;
  const Sums whole{all.g - missing.g, all.h - missing.h, all.count - missing.count};
  int64_t quantile = 0;
  Candidates c;
  Split found;
  visit_values(node, feature, n, [&](uint32_t rank, const Sums& sums, bool last) {
    bool candidate = true;
    if (proposal_ == Proposal::kGlobal) candidate = proposed_[feature][rank];
    if (proposal_ == Proposal::kLocal) {
      const int64_t reached = quantile_of(sums, whole, n_quantiles_);
      candidate = reached > quantile;
      quantile = reached;
    }
    if (candidate || (last && missing.count > 0)) {  // all that is there against what is missing
      c.g[c.n] = sums.g;
      c.h[c.n] = sums.h;
      c.count[c.n] = sums.count;
      c.bin[c.n++] = int32_t(rank);
    }
    if (c.n == kAtOnce || (last && c.n > 0)) {
      choose(c, missing, context, found);
      c.n = 0;
    }
  });
  best = found;
}

bool SortedTree::force(int node, Split split) {
  split.any_missing = true;  // the side of missing values is given
  const Ranked* rows = list(split.feature, node);
  for (int64_t i = 0; i < size(node); ++i) {
    if (!goes_left(split, rows[i].rank)) continue;
    const Sums one = cell(rows[i].row);
    split.left = {split.left.g + one.g, split.left.h + one.h, split.left.count + 1};
  }
  return nodes_.force_split(node, split, Sums(nodes_[node].sums));
}

void SortedTree::leaf_sums(const std::vector<int>& leaves, Sums* sums, void* leaf_of_row, int leaf_size) {
  std::vector<uint32_t> leaf(sampled_ ? size_t(n_rows_) : 0);
  if (sampled_) find_leaves(leaves, leaf.data());
  auto set = [&](int64_t row, uint32_t value) {
    if (leaf_size == 1) static_cast<uint8_t*>(leaf_of_row)[row] = uint8_t(value);
    if (leaf_size == 2) static_cast<uint16_t*>(leaf_of_row)[row] = uint16_t(value);
    if (leaf_size == 4) static_cast<uint32_t*>(leaf_of_row)[row] = value;
  };
  for (size_t row = 0; row < leaf.size(); ++row) set(int64_t(row), leaf[row]);
  parallel(n_rows_ < 20000 ? 1 : n_threads_, int64_t(leaves.size()), [&](int, Tasks& tasks) {
    for (int64_t k; (k = tasks.claim()) >= 0;) {
      const Ranked* rows = list(0, leaves[k]);
      Sums total;
      for (int64_t i = 0; i < size(leaves[k]); ++i) {
        const char* own = static_cast<const char*>(gradients_) +
                          rows[i].row * (format_.gradients == GradientFormat::kSingle ? sizeof(Single) : sizeof(Pair));
        const Sums one = sum_gradients(own, 1, format_.gradients);
        total = {total.g + one.g, total.h + one.h, total.count + 1};
        set(rows[i].row, uint32_t(k));
      }
      sums[k] = total;
    }
  });
}

// Sends all rows down the tree, level by level, in the order of each feature that splits nodes there: those that were not sampled are in no
// list.
void SortedTree::find_leaves(const std::vector<int>& leaves, uint32_t* leaf_of_row) {
  constexpr int64_t kRows = 1 << 14;
  std::vector<uint32_t> leaf_of_node(nodes_.size()), at(size_t(n_rows_), 0);  // the node each row is in
  for (size_t i = 0; i < leaves.size(); ++i) leaf_of_node[leaves[i]] = uint32_t(i);
  std::set<std::pair<int, int>> levels;  // (depth, feature)
  for (const Node& node : nodes_.all()) {
    if (node.left >= 0) levels.emplace(node.depth, node.split.feature);
  }
  for (auto [depth, feature] : levels) {
    parallel(n_threads_, (n_rows_ + kRows - 1) / kRows, [&, depth = depth, feature = feature](int, Tasks& tasks) {
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        for (int64_t i = task * kRows; i < std::min(n_rows_, (task + 1) * kRows); ++i) {
          const auto [row, rank] = columns_[feature][i];
          const Node& node = nodes_[int(at[row])];
          if (node.depth == depth && node.left >= 0 && node.split.feature == feature) {
            at[row] = uint32_t(goes_left(node.split, rank) ? node.left : node.right);
          }
        }
      }
    });
  }
  for (int64_t row = 0; row < n_rows_; ++row) leaf_of_row[row] = leaf_of_node[at[row]];
}

}  // namespace sapwood
