// How a RowPartition sends the rows of a node to its children.
#include <algorithm>

#include "core/pool.hpp"
#include "grow/row_partition.hpp"
#include "grow/scatter.hpp"

namespace sapwood {
namespace {

constexpr int64_t kChunk = 1024;         // rows split at once: their codes are still in the cache when the histogram needs them
constexpr int64_t kFewestToKeep = 1024;  // rows of a node on a page below which all are moved
constexpr int64_t kMinorityFactor = 4;   // a minority is at most one row in so many

}  // namespace

// Whether a row goes left.
bool RowPartition::side_of(const Page& page, const FeatureStorage& storage, const Sides& sides, uint32_t row) const {
  if (storage.column == kRowList) {
    return side_listed(storage, sides, page.list_bins + page.list_begin[row], page.list_bins + page.list_begin[row + 1]);
  }
  const int64_t at = (int64_t(storage.column / layout_->width) * page.n_rows + row) * layout_->stride + storage.column % layout_->width;
  return sides.left[page.codes[at]];
}

// A bit for each row of a page that is not on the side of the feature's default bin; empty if searching the lists of the node's rows is
// less work.
RowPartition::Marks RowPartition::mark_rows(size_t page, const FeatureStorage& storage, const Sides& sides, int64_t n_node) const {
  const int64_t n_words = (pages_[page].n_rows + 63) / 64;
  int64_t work = n_words / 4;
  for (int b = 0; b < storage.n_stored; ++b) {
    if (sides.left[b] != sides.default_side) work += inverted_[page].count(storage.first + b);
  }
  if (work > 4 * n_node) return {};
  Marks marks(n_words);
  for (int b = 0; b < storage.n_stored; ++b) {
    if (sides.left[b] == sides.default_side) continue;
    inverted_[page].visit(storage.first + b, [&](const uint32_t* row, const uint32_t* end) {
      for (; row < end; ++row) marks[*row >> 6] |= uint64_t(1) << (*row & 63);
    });
  }
  return marks;
}

// Moves only the rows that are not on the side of the default bin, if they are few: the inverted lists tell which they are. The child that
// keeps the other rows gets marks instead of a list. Trees on sparse features split small leaves from a large rest, which would be copied
// every time. False if all rows have to be moved.
bool RowPartition::move_minority(Job& job, size_t page) {
  static_assert(kFewestToKeep - kFewestToKeep / kMinorityFactor > kFewRows, "the rows of a small node are always listed");
  const FeatureStorage& storage = layout_->columns.features[nodes_[job.node].split.feature];
  const Range r = range(job.node, page);
  if (storage.column != kRowList || sampled_ || r.end - r.begin < kFewestToKeep) return false;
  auto visit_minority = [&](auto&& f) {
    for (int b = 0; b < storage.n_stored; ++b) {
      if (job.sides.left[b] != job.sides.default_side) inverted_[page].visit(storage.first + b, f);
    }
  };
  int64_t n_moved = 0;  // at most: with rows of other nodes
  visit_minority([&](const uint32_t* rows, const uint32_t* end) { n_moved += end - rows; });
  if (kMinorityFactor * n_moved > r.end - r.begin) return false;
  Marks members;
  if (auto known = members_.find({job.node, page}); known != members_.end()) {
    members = std::move(known->second);
    members_.erase(known);
  } else {
    members = mark_members(job.node, page);
  }
  const bool to_right = job.sides.default_side;
  const int buffer = nodes_[job.left].buffer;
  uint32_t* to_rows = rows(buffer, page);
  int64_t n = 0;
  auto move = [&](auto gradient) {
    using Gradient = decltype(gradient);
    auto* from = reinterpret_cast<const Gradient*>(gradients(kAllGradients, page));
    auto* to = reinterpret_cast<Gradient*>(gradients(buffer, page));
    visit_minority([&](const uint32_t* moved, const uint32_t* end) {
      for (; moved < end; ++moved) {
        const uint32_t row = *moved;
        const uint64_t bit = uint64_t(1) << (row & 63);
        if (!(members[row >> 6] & bit)) continue;
        members[row >> 6] ^= bit;
        ++n;
        const int64_t at = to_right ? r.end - n : r.begin + n - 1;
        to_rows[at] = row;
        to[at] = from[row];
      }
    });
  };
  gradient_size_ == sizeof(Pair) ? move(Pair{}) : move(Single{});
  job.filled[2 * page].left = to_right ? r.end - r.begin - n : n;
  members_[{to_right ? job.left : job.right, page}] = std::move(members);
  return true;
}

// A bit for each row of a page that is in a node.
RowPartition::Marks RowPartition::mark_members(int node, size_t page) const {
  const Range r = range(node, page);
  const int64_t n_rows = pages_[page].n_rows;
  Marks marks((n_rows + 63) / 64, implicit(node) ? ~uint64_t(0) : 0);
  if (implicit(node)) {
    if (n_rows % 64) marks.back() = (uint64_t(1) << (n_rows % 64)) - 1;
    return marks;
  }
  const uint32_t* own = rows(nodes_[node].buffer, page);
  for (int64_t i = r.begin; i < r.end; ++i) marks[own[i] >> 6] |= uint64_t(1) << (own[i] & 63);
  return marks;
}

// Gives a node that has marks on a page a list of its rows again, and their gradients.
void RowPartition::list_rows(int node, size_t page) {
  if (members_.empty()) return;
  const auto known = members_.find({node, page});
  if (known == members_.end()) return;
  const int buffer = nodes_[node].buffer;
  uint32_t* to_rows = rows(buffer, page);
  auto list = [&](auto gradient) {
    using Gradient = decltype(gradient);
    auto* from = reinterpret_cast<const Gradient*>(gradients(kAllGradients, page));
    auto* to = reinterpret_cast<Gradient*>(gradients(buffer, page));
    int64_t at = range(node, page).begin;
    for (size_t w = 0; w < known->second.size(); ++w) {
      for (uint64_t left = known->second[w]; left; left &= left - 1, ++at) {
        const uint32_t row = uint32_t(w * 64 + __builtin_ctzll(left));
        to_rows[at] = row;
        to[at] = from[row];
      }
    }
  };
  gradient_size_ == sizeof(Pair) ? list(Pair{}) : list(Single{});
  members_.erase(known);
}

// Sends the rows of each job's node to its children, page by page; if columns form one group, adds them to the children's histograms while
// their codes are still in the cache.
void RowPartition::split_rows(std::vector<Job>& jobs, bool whole) {
  struct Part {
    int64_t first_task;
    Job* job;
    size_t page;
  };
  const BinLayout& layout = *layout_;
  std::vector<Part> parts;
  int64_t n_tasks = 0, n_rows = 0;
  for (size_t p = 0; p < pages_.size(); ++p) {
    for (Job& job : jobs) {
      const Range r = range(job.node, p);
      if (r.begin == r.end || move_minority(job, p)) continue;
      list_rows(job.node, p);
      parts.push_back({n_tasks, &job, p});
      n_tasks += (r.end - r.begin + kChunk - 1) / kChunk;
      n_rows += r.end - r.begin;
      const FeatureStorage& storage = layout.columns.features[nodes_[job.node].split.feature];
      if (storage.column != kRowList) continue;
      job.marks.resize(pages_.size());
      job.marks[p] = mark_rows(p, storage, job.sides, r.end - r.begin);
    }
  }
  const bool adds = adds_while_splitting();
  const int n_threads = n_rows * (adds ? layout.width / 2 + 4 : 4) < kSerialWork ? 1 : n_threads_;
  make_scratch(n_threads);
  parallel(n_threads, n_tasks, [&](int participant, Tasks& tasks) {
    Scratch& scratch = (*scratch_)[participant];
    const bool alone = n_threads == 1;
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const Part& part =
          *(std::upper_bound(parts.begin(), parts.end(), task, [](int64_t t, const Part& q) { return t < q.first_task; }) - 1);
      Job& job = *part.job;
      const size_t p = part.page;
      const LocalNode& node = nodes_[job.node];
      const Range r = range(job.node, p);
      const int64_t first = r.begin + (task - part.first_task) * kChunk, n = std::min(kChunk, r.end - first);
      const FeatureStorage& storage = layout.columns.features[node.split.feature];
      const uint32_t* from_rows = job.implicit ? nullptr : rows(node.buffer, p) + first;
      const char* from_gradients = gradients(node.buffer, p) + first * gradient_size_;
      uint8_t left[kChunk];
      int64_t n_left;
      if (storage.column == kRowList && !job.marks[p].empty()) {
        n_left = decide_marked(job.marks[p].data(), job.sides.default_side, from_rows, uint32_t(first), n, left);
      } else if (storage.column == kRowList) {
        n_left = decide_listed(pages_[p], storage, job.sides, from_rows, uint32_t(first), n, left);
      } else {
        size_t step;
        const uint8_t* codes = column(storage.column, p, step);
        n_left = decide_rows(codes, step, job.sides.left, from_rows, uint32_t(first), n, r.end - first - n, left);
      }
      const int64_t n_right = n - n_left;
      // If where the left child ends is known beforehand, each child's range is filled chunk by chunk as they come, and every second thread
      // writes from the ends of the ranges: so each thread finds most of the rows it wrote when it comes to split the children. Otherwise
      // the left child is written from the node's begin, the right one from the node's end.
      const bool known = whole && pages_.size() == 1 && node.split.counted, back = participant % 2;
      const int64_t middle = r.begin + node.split.left.count;
      auto claim = [&](bool right, int64_t begin, int64_t end, bool from_end, int64_t count) {
        Filled& filled = job.filled[2 * p + from_end];
        const int64_t before = (right ? filled.right : filled.left).fetch_add(count, std::memory_order_relaxed);
        return from_end ? end - before - count : begin + before;
      };
      const int64_t left_at = claim(false, r.begin, middle, known && back, n_left);
      const int64_t right_at = claim(true, middle, r.end, !known || back, n_right);
      uint32_t* to_rows = rows(nodes_[job.left].buffer, p);
      char* to_gradients = gradients(nodes_[job.left].buffer, p);
      scatter_rows(gradient_size_, left, from_rows, uint32_t(first), from_gradients, n, left_at, right_at, to_rows, to_gradients);
      if (!adds) continue;
      auto add = [&](const Target& target, int64_t at, int64_t count) {
        if (target.cells) add_to_histogram(scratch, target, alone, p, 0, to_rows + at, 0, to_gradients + at * gradient_size_, count);
      };
      add(job.left_target, left_at, n_left);
      add(job.right_target, right_at, n_right);
    }
    flush(scratch, alone);
  });
  for (Job& job : jobs) {
    for (size_t p = 0; p < pages_.size(); ++p) {
      const Range r = range(job.node, p);
      const int64_t middle = r.begin + job.filled[2 * p].left + job.filled[2 * p + 1].left;
      range(job.left, p) = {r.begin, middle};
      range(job.right, p) = {middle, r.end};
    }
  }
}

}  // namespace sapwood
