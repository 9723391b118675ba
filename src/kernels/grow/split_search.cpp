#include "grow/split_search.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/pool.hpp"

namespace sapwood {
namespace {

constexpr int64_t kClear = 1 << 17;  // bytes cleared at a time

uint64_t next_step() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

SplitSearch::SplitSearch(std::shared_ptr<const BinLayout> layout, int n_threads, int64_t max_histogram_bytes)
    : layout_(std::move(layout)), n_threads_(std::max(1, n_threads)), slots_(layout_->n_cells, max_histogram_bytes) {
  constrain({});
}

void SplitSearch::constrain(TreeConstraints constraints) {
  nodes_.constrain(std::move(constraints));
  binary_ = BinaryFeatureScan(*layout_, nodes_.constraints());
  few_rows_ = binary_.all() && layout_->n_cells <= kFewCells && searches_binary(nullptr) ? 0 : kFewRows;
}

void SplitSearch::begin_tree(const TreeSettings& settings) {
  format_ = settings.format;
  local_tree_ = step_ = 0;
  slots_.reset();
  nodes_.start(settings);
}

SplitBatch SplitSearch::new_batch() {
  SplitBatch batch;
  batch.layout = layout_;
  batch.format = format_;
  batch.step = step_ = next_step();
  taken_ = false;
  local_tree_ = 0;
  return batch;
}

SplitBatch SplitSearch::start(const Sums& root, const TreeSettings& settings, const uint8_t* allowed) {
  begin_tree(settings);
  SplitBatch batch = new_batch();
  batch.n_nodes = 1;
  if (allowed) batch.allowed.assign(allowed, allowed + layout_->n_features);
  nodes_[0].sums.count = root.count;
  if (!nodes_.can_split(nodes_[0])) return batch;
  nodes_.set_root_sums(root);
  slots_.take(0, nodes_);
  batch.histograms.push_back(0);
  batch.searches.emplace_back(0, -1);
  return batch;
}

SplitBatch SplitSearch::begin(const std::vector<int>& nodes, bool search, const uint8_t* allowed) {
  SplitBatch batch = new_batch();
  if (allowed) batch.allowed.assign(allowed, allowed + 2 * nodes.size() * size_t(layout_->n_features));
  plan_children(batch, nodes, search, false);
  for (int node : batch.histograms) slots_.take(node, nodes_);
  return batch;
}

SplitBatch SplitSearch::begin_again(int node, const uint8_t* allowed) {
  SplitBatch batch = new_batch();
  if (allowed) batch.allowed.assign(allowed, allowed + layout_->n_features);
  batch.first = node;
  batch.n_nodes = 1;
  if (!nodes_.can_split(nodes_[node])) return batch;
  batch.searches.emplace_back(node, -1);
  if (!slots_.has(node)) {
    slots_.take(node, nodes_);
    batch.histograms.push_back(node);
  }
  return batch;
}

void SplitSearch::take(const SplitBatch& batch, const int64_t* words) {
  const int64_t n = batch.n_words();
  for (int node : batch.histograms) {
    std::memcpy(slots_.cells(node), words, size_t(n) * sizeof *words);
    words += n;
  }
  for (int node : batch.uncounted()) nodes_[node].sums.count = *words++;
  taken_ = true;
}

void SplitSearch::best(const SplitBatch& batch) {
  find_splits(batch.searches, batch.allowed.empty() ? nullptr : batch.allowed.data(), batch.first, nullptr);
  step_ = 0;
}

bool SplitSearch::force(int node, Split split, const Sums& left, const Sums& all) {
  if (split.bin > 255 || nodes_.constraints().kind(split.feature) != Kind::kNumber) return false;
  split.left = left;
  split.any_missing = true;  // the side of missing values is given
  local_tree_ = 0;
  return nodes_.force_split(node, split, all);
}

void SplitSearch::plan_children(SplitBatch& batch, const std::vector<int>& nodes, bool search, bool by_rows) {
  batch.first = nodes_.add_children(nodes.size());
  batch.n_nodes = 2 * int(nodes.size());
  batch.splits.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes_.make_children(nodes[i], batch.first + 2 * int(i));
    batch.splits.push_back({nodes[i], nodes_[nodes[i]].split});
  }
  for (int node : nodes) {
    const int left = nodes_[node].left, right = nodes_[node].right;
    const bool left_smaller = nodes_[left].sums.count <= nodes_[right].sums.count;
    const int small = left_smaller ? left : right, large = left_smaller ? right : left;
    if (!search || !nodes_.can_split(nodes_[large])) {
      slots_.release(node);
    } else if (by_rows && is_small(large)) {
      slots_.release(node);
      if (nodes_.can_split(nodes_[small])) batch.searches.emplace_back(small, -1);
      batch.searches.emplace_back(large, -1);
    } else if (slots_.has(node)) {
      batch.histograms.push_back(small);
      slots_.move(node, large);
      batch.searches.emplace_back(small, large);
    } else {
      if (nodes_.can_split(nodes_[small])) {
        if (!by_rows || !is_small(small)) batch.histograms.push_back(small);
        batch.searches.emplace_back(small, -1);
      }
      batch.histograms.push_back(large);
      batch.searches.emplace_back(large, -1);
    }
  }
}

int64_t* SplitSearch::take_zeroed(int node) {
  char* memory = reinterpret_cast<char*>(slots_.take(node, nodes_));
  const int64_t size = (layout_->n_cells + 1) * format_.words() * int64_t(sizeof(int64_t));
  parallel(size < 2 * kClear ? 1 : n_threads_, (size + kClear - 1) / kClear, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) std::memset(memory + task * kClear, 0, size_t(std::min(kClear, size - task * kClear)));
  });
  return slots_.cells(node);
}

void SplitSearch::start(RowPartition& rows, void* gradients, const TreeSettings& settings, const uint8_t* allowed, const int64_t* sample,
                        int64_t n_sample) {
  begin_tree(settings);
  nodes_[0].sums.count = sample ? n_sample : rows.n_rows();
  const bool searched = nodes_.can_split(nodes_[0]);
  int64_t* root = searched && !is_small(0) ? take_zeroed(0) : nullptr;
  rows.start(gradients, settings.format, settings.key, sample, n_sample, root);
  local_tree_ = rows.tree_id();
  if (!searched) return;
  nodes_.set_root_sums(root && layout_->n_columns() > 0 ? sum_column(root) : rows.node_sums(0));
  find_splits({{0, -1}}, allowed, 0, &rows);
}

void SplitSearch::apply(RowPartition& rows, const SplitBatch& batch) {
  std::vector<int64_t*> histograms;
  for (int node : batch.histograms) histograms.push_back(take_zeroed(node));
  rows.apply(batch, histograms.data(), true);
}

int SplitSearch::advance(RowPartition& rows, const std::vector<int>& nodes, bool search, const uint8_t* allowed) {
  SplitBatch batch;
  plan_children(batch, nodes, search, true);
  apply(rows, batch);
  if (nodes_.constraints().symmetric) {
    for (int node : batch.uncounted()) nodes_[node].sums.count = rows.count(node);
  }
  find_splits(batch.searches, allowed, batch.first, &rows);
  return batch.first;
}

void SplitSearch::search_again(RowPartition& rows, int node, const uint8_t* allowed) {
  if (!nodes_.can_split(nodes_[node])) return;
  if (!is_small(node) && !slots_.has(node)) {
    SplitBatch batch;
    batch.first = node;
    batch.histograms.push_back(node);
    apply(rows, batch);
  }
  find_splits({{node, -1}}, allowed, node, &rows);
}

bool SplitSearch::force(RowPartition& rows, int node, const Split& split) {
  const uint64_t tree = local_tree_;
  const bool forced = force(node, split, rows.left_sums(node, split), rows.node_sums(node));
  local_tree_ = tree;  // the sums are its own
  return forced;
}

Sums SplitSearch::sum_column(const int64_t* cells) const {
  Sums sums;
  for (uint32_t b = 0; b < layout_->column_begin[1]; ++b) {
    const int64_t word = format_.words() == 1 ? cells[b] : cells[2 * b + 1];
    sums.g += format_.words() == 1 ? word >> format_.count_bits : cells[2 * b];
    sums.h += format_.words() == 1 ? word & format_.count_mask() : word >> format_.count_bits;
    sums.count += word & format_.count_mask();
  }
  return sums;
}

bool SplitSearch::histogram(int node, int64_t* out) const {
  if (!slots_.has(node)) return false;
  const int64_t* c = slots_.cells(node);
  for (int64_t i = 0; i < layout_->n_cells; ++i, out += 3) {
    const int64_t word = format_.words() == 1 ? c[i] : c[2 * i + 1];
    out[0] = format_.words() == 1 ? word >> format_.count_bits : c[2 * i];
    out[1] = format_.words() == 1 ? word & format_.count_mask() : word >> format_.count_bits;
    out[2] = word & format_.count_mask();
  }
  return true;
}

}  // namespace sapwood
