#include "grow/row_partition.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/pool.hpp"
#include "grow/histogram.hpp"
#include "predict/leafsets.hpp"

namespace sapwood {
namespace {

constexpr int64_t kColumnBytes = 1 << 20;  // pages larger than this get a copy by columns

uint64_t next_tree_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

RowPartition::RowPartition(std::shared_ptr<const BinLayout> layout, std::vector<Page> pages, int n_threads)
    : layout_(std::move(layout)), n_threads_(std::max(1, n_threads)), scratch_(std::make_shared<std::vector<Scratch>>(n_threads_)) {
  for (const Page& page : pages) {
    pages_.push_back({page, n_rows_});
    n_rows_ += page.n_rows;
  }
  for (auto& buffer : row_buffers_) buffer = Buffer(size_t(n_rows_) * sizeof(uint32_t));
  copy_columns();
  if (layout_->any_lists()) invert_lists();
}

RowPartition::RowPartition(std::shared_ptr<const BinLayout> layout, int64_t n_rows, int64_t first_row, int n_threads,
                           const RowPartition* other)
    : layout_(std::move(layout)),
      n_threads_(std::max(1, n_threads)),
      loaded_later_(true),
      n_rows_(n_rows),
      columns_(1),
      scratch_(other ? other->scratch_ : std::make_shared<std::vector<Scratch>>(n_threads_)) {
  pages_.push_back({{nullptr, n_rows, first_row, nullptr, nullptr}, 0});
  for (auto& buffer : row_buffers_) buffer = Buffer(size_t(n_rows_) * sizeof(uint32_t));
}

// A histogram reads whole rows of codes. A split reads one code of each row, and fetching whole rows for it would cost as much memory
// traffic again; so large pages keep a second copy by columns.
void RowPartition::copy_columns() {
  constexpr int64_t kTile = 256;
  const BinLayout& layout = *layout_;
  columns_.resize(pages_.size());
  for (size_t p = 0; p < pages_.size(); ++p) {
    const int64_t n = pages_[p].n_rows;
    if (n * layout.stride * layout.n_groups < kColumnBytes || layout.n_columns() == 0) continue;
    columns_[p] = Buffer(size_t(layout.n_columns()) * n + kSetRows);  // the last block may look past the end
    parallel(n_threads_, (n + kTile - 1) / kTile, [&](int, Tasks& tasks) {
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        const int64_t begin = task * kTile, end = std::min(n, begin + kTile);
        for (int c = 0; c < layout.n_columns(); ++c) {
          const uint8_t* from = pages_[p].codes + size_t(c / layout.width) * n * layout.stride + c % layout.width;
          uint8_t* to = columns_[p].as<uint8_t>() + size_t(c) * n;
          for (int64_t i = begin; i < end; ++i) to[i] = from[i * layout.stride];
        }
      }
    });
  }
}

// Searching the list of each row of a node for its side costs far more than looking up a bit; setting the bits takes only the few rows of
// a bin. So row lists are kept by bin, too.
void RowPartition::invert_lists() {
  const int64_t n_bins = layout_->columns.n_list_bins;
  for (const Page& page : pages_) {
    inverted_.emplace_back(page, n_bins, n_threads_);
    if (n_bins <= kPackedListBins) short_lists_.emplace_back(page, uint16_t(n_bins));
    mean_list_ += page.list_begin[page.n_rows];
  }
  mean_list_ = mean_list_ / std::max<int64_t>(1, n_rows_) + 1;
}

const uint8_t* RowPartition::column(int column, size_t page, size_t& step) const {
  const Page& p = pages_[page];
  if (const uint8_t* columns = columns_[page].as<uint8_t>()) {
    step = 1;
    return columns + size_t(column) * p.n_rows;
  }
  step = layout_->stride;
  return p.codes + size_t(column / layout_->width) * p.n_rows * layout_->stride + column % layout_->width;
}

bool RowPartition::has_rows(const int64_t* ids, int64_t n) const {
  size_t p = 0;
  for (int64_t i = 0; i < n; ++i) {
    while (p < pages_.size() && ids[i] >= pages_[p].first_row + pages_[p].n_rows) ++p;
    if (p == pages_.size() || ids[i] < pages_[p].first_row || (i > 0 && ids[i] <= ids[i - 1])) return false;
  }
  return true;
}

int64_t RowPartition::count(int node) const {
  int64_t n = 0;
  for (size_t p = 0; p < pages_.size(); ++p) n += range(node, p).end - range(node, p).begin;
  return n;
}

void RowPartition::start(void* gradients, const HistogramFormat& format, uint64_t key, const int64_t* sample, int64_t n_sample,
                         int64_t* root) {
  format_ = format;
  tree_id_ = next_tree_id();
  sampled_ = sample != nullptr;
  gradient_size_ = format.gradients == GradientFormat::kSingle ? sizeof(Single) : sizeof(Pair);
  const bool keep = layout_->any_lists() && !sampled_;
  for (int i = 0; i <= keep; ++i) {
    if (!spare_gradients_[i].as<char>()) spare_gradients_[i] = Buffer(size_t(n_rows_) * sizeof(Pair));
  }
  gradient_buffers_[keep ? kAllGradients : 0] = static_cast<char*>(gradients);
  gradient_buffers_[1] = spare_gradients_[0].as<char>();
  if (keep) gradient_buffers_[0] = spare_gradients_[1].as<char>();
  members_.clear();
  nodes_.assign(1, LocalNode{});
  nodes_[0].buffer = sampled_ ? 1 : keep ? kAllGradients : 0;
  ranges_.assign(pages_.size(), Range{});
  sample_.assign(sampled_ ? pages_.size() : 0, {});
  const int64_t* at = sample;  // of each page: where its part of the sample begins
  for (size_t p = 0; p < pages_.size(); ++p) {
    const int64_t* end = sampled_ ? std::lower_bound(at, sample + n_sample, pages_[p].first_row + pages_[p].n_rows) : nullptr;
    ranges_[p] = {0, sampled_ ? end - at : pages_[p].n_rows};
    if (sampled_) sample_[p].resize(size_t(end - at));
    at = end;
  }

  const bool add = root && adds_while_splitting(), narrows = format.gradients == GradientFormat::kNarrow;
  const int64_t n_all = sampled_ ? n_sample : n_rows_;
  const int n_threads = n_all * layout_->width < kSerialWork ? 1 : n_threads_;
  make_scratch(n_threads);
  make_locks(1);
  if (add || sampled_ || narrows) {
    const int64_t block = std::clamp<int64_t>(n_all / (4 * n_threads), 256, kBlockRows);
    std::vector<int64_t> begin(1, 0);  // of each page's tasks
    for (size_t p = 0; p < pages_.size(); ++p) begin.push_back(begin.back() + (ranges_[p].end + block - 1) / block);
    parallel(n_threads, begin.back(), [&](int participant, Tasks& tasks) {
      Scratch& scratch = (*scratch_)[participant];
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        const size_t p = std::upper_bound(begin.begin(), begin.end(), task) - begin.begin() - 1;
        const int64_t first = (task - begin[p]) * block, n = std::min(block, ranges_[p].end - first);
        if (sampled_) take_sample(p, first, n, std::lower_bound(sample, sample + n_sample, pages_[p].first_row) + first);
        char* from = this->gradients(nodes_[0].buffer, p) + first * gradient_size_;
        const uint32_t* rows = sampled_ ? this->rows(1, p) + first : nullptr;
        if (narrows) narrow(p, rows, first, n, key, reinterpret_cast<Pair*>(from));
        if (add) add_to_histogram(scratch, {root, 0}, n_threads == 1, p, 0, rows, uint32_t(first), from, n);
      }
      flush(scratch, n_threads == 1);
    });
  }
  if (root && !add) build_histograms({0}, &root);
}

// Lists n sampled rows of a page, those from the first one on, and copies their gradients side by side.
//   sample  their ids   IN
void RowPartition::take_sample(size_t page, int64_t first, int64_t n, const int64_t* sample) {
  const char* from = gradients(0, page);
  uint32_t* list = rows(1, page) + first;
  for (int64_t i = 0; i < n; ++i) list[i] = uint32_t(sample[i] - pages_[page].first_row);
  std::copy(list, list + n, sample_[page].begin() + first);
  auto copy = [&](auto gradient) {
    using Gradient = decltype(gradient);
    Gradient* to = reinterpret_cast<Gradient*>(gradients(1, page)) + first;
    for (int64_t i = 0; i < n; ++i) to[i] = reinterpret_cast<const Gradient*>(from)[list[i]];
  };
  gradient_size_ == sizeof(Pair) ? copy(Pair{}) : copy(Single{});
}

// Rounds the gradients of n rows of a page, those from the first one on, by hashes of the rows' ids.
//   rows  of the sample, or null for first, first + 1, ...   IN
void RowPartition::narrow(size_t page, const uint32_t* rows, int64_t first, int64_t n, uint64_t key, Pair* pairs) const {
  const uint64_t start = uint64_t(pages_[page].first_row);
  auto narrow = [&](int64_t begin, int64_t end) {  // rows with the same upper half of their ids
    const uint64_t id = start + (rows ? rows[begin] : uint32_t(first + begin));
    const uint32_t low = uint32_t(start), upper = row_key(key, id);
    if (rows) return narrow_gradients(pairs + begin, end - begin, [=](int64_t i) { return hash_row(upper, low + rows[begin + i]); });
    narrow_gradients(pairs + begin, end - begin, upper, uint32_t(id));
  };
  // The ids of a page pass a multiple of 2^32 once at most.
  const int64_t passing = int64_t((uint64_t(1) << 32) - (start & 0xffffffffu));
  const int64_t same = rows ? std::lower_bound(rows, rows + n, passing) - rows : std::clamp<int64_t>(passing - first, 0, n);
  if (same > 0) narrow(0, same);
  if (same < n) narrow(same, n);
}

void RowPartition::apply(const SplitBatch& batch, int64_t* const* histograms, bool whole) {
  std::vector<Job> jobs(batch.splits.size());
  nodes_.resize(nodes_.size() + 2 * jobs.size());
  ranges_.resize(nodes_.size() * pages_.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    Job& job = jobs[i];
    job.node = batch.splits[i].node;
    job.left = batch.first + 2 * int(i);
    job.right = job.left + 1;
    job.implicit = implicit(job.node);
    LocalNode& node = nodes_[job.node];
    node.split = batch.splits[i].split;
    node.left = job.left;
    node.right = job.right;
    nodes_[job.left].buffer = nodes_[job.right].buffer = node.buffer == 1 ? 0 : 1;
    job.sides = sides_of(*layout_, node.split);
    job.filled = std::make_unique<Filled[]>(2 * pages_.size());
  }
  make_locks(batch.histograms.size());
  const bool add = !jobs.empty() && adds_while_splitting();
  for (size_t i = 0; add && i < batch.histograms.size(); ++i) {
    const int child = batch.histograms[i] - batch.first;
    Job& job = jobs[size_t(child / 2)];
    (child % 2 ? job.right_target : job.left_target) = {histograms[i], int(i)};
  }
  if (!jobs.empty()) split_rows(jobs, whole);
  if (!add) build_histograms(batch.histograms, histograms);
}

Sums RowPartition::node_sums(int node) {
  Sums sums;
  for (size_t p = 0; p < pages_.size(); ++p) {
    list_rows(node, p);
    const Range r = range(node, p);
    for (int64_t i = r.begin; i < r.end; ++i) {
      int64_t g = 0, word = 0;
      cell_of(gradients(nodes_[node].buffer, p), i, format_, g, word);
      sums.g += g;
      sums.h += word >> format_.count_bits;
      ++sums.count;
    }
  }
  return sums;
}

Sums RowPartition::left_sums(int node, const Split& split) {
  const Sides sides = sides_of(*layout_, split);
  const FeatureStorage& storage = layout_->columns.features[split.feature];
  const int buffer = nodes_[node].buffer;
  Sums sums;
  for (size_t p = 0; p < pages_.size(); ++p) {
    list_rows(node, p);
    const Range r = range(node, p);
    for (int64_t i = r.begin; i < r.end; ++i) {
      const uint32_t row = implicit(node) ? uint32_t(i) : rows(buffer, p)[i];
      if (!side_of(pages_[p], storage, sides, row)) continue;
      int64_t g = 0, word = 0;
      cell_of(gradients(buffer, p), i, format_, g, word);
      sums += Sums{g, word >> format_.count_bits, 1};
    }
  }
  return sums;
}

void RowPartition::read_rows(int node, int group, FewRows& out) const {
  out.n = 0;
  const int buffer = nodes_[node].buffer;
  for (size_t p = 0; p < pages_.size(); ++p) {
    const Range r = range(node, p);
    const Page& page = pages_[p];
    const uint8_t* codes = page.codes + size_t(group) * page.n_rows * layout_->stride;
    for (int64_t i = r.begin; i < r.end; ++i, ++out.n) {
      const size_t row = implicit(node) ? size_t(i) : rows(buffer, p)[i];
      if (group < layout_->n_groups) {
        out.codes[out.n] = codes + row * layout_->stride;
      } else {
        out.list[out.n] = page.list_bins + page.list_begin[row];
        out.list_end[out.n] = page.list_bins + page.list_begin[row + 1];
      }
      cell_of(gradients(buffer, p), i, format_, out.g[out.n], out.word[out.n]);
    }
  }
}

}  // namespace sapwood
