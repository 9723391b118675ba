// The rows of its nodes, and how they are split.
#include <algorithm>

#include "core/pool.hpp"
#include "grow/partition.hpp"
#include "grow/workspace.hpp"
#include "predict/leafsets.hpp"

namespace sapwood {
namespace {

constexpr int64_t kChunk = 1024;           // rows partitioned at once: their bins are still near when the histogram needs them
constexpr int64_t kColumnBytes = 1 << 20;  // pages larger than this get a copy by columns
constexpr int64_t kFewestApart = 1024;     // rows of a node below which all are moved
constexpr int64_t kApart = 4;              // times as many rows as leave it must a node have, or all are moved

}  // namespace

// To find the side of each row of a node in its list costs far more than to look up a bit; to set the bits takes the few rows that a bin
// has. So what lies beside the rows is kept by bin, too.
void Workspace::make_inverted() {
  for (const Page& page : pages_) {
    inverted_.emplace_back(page, layout_.places.n_beside, n_threads_);
    if (layout_.places.n_beside <= kPackedBeside) short_lists_.emplace_back(page, uint16_t(layout_.places.n_beside));
    mean_list_ += page.begin[page.n_rows];
  }
  mean_list_ = mean_list_ / std::max<int64_t>(1, n_rows_) + 1;
}

// A bit for each row of a page that does not go the way of the feature's common bin; nothing where looking through the lists of a node's
// rows is less work.
Workspace::Marks Workspace::mark_rows(size_t page, const Place& place, const Sides& sides, int64_t n_node) const {
  const int64_t n_words = (pages_[page].n_rows + 63) / 64;
  int64_t work = n_words / 4;
  for (int b = 0; b < place.n_stored; ++b) {
    if (sides.left[b] != sides.common) work += inverted_[page].count(place.first + b);
  }
  if (work > 4 * n_node) return {};
  Marks marks(n_words);
  for (int b = 0; b < place.n_stored; ++b) {
    if (sides.left[b] == sides.common) continue;
    inverted_[page].visit(place.first + b, [&](const uint32_t* row, const uint32_t* end) {
      for (; row < end; ++row) marks[*row >> 6] |= uint64_t(1) << (*row & 63);
    });
  }
  return marks;
}

// A row of bins is what a histogram wants. To split a node only one bin of each row is needed, and fetching whole rows for it would
// cost as much memory traffic again; so large pages keep a second copy by columns.
void Workspace::make_columns() {
  constexpr int64_t kTile = 256;
  columns_.resize(pages_.size());
  for (size_t p = 0; p < pages_.size(); ++p) {
    const int64_t n = pages_[p].n_rows;
    if (n * layout_.stride * layout_.n_groups < kColumnBytes || layout_.n_columns() == 0) continue;
    columns_[p] = Buffer(size_t(layout_.n_columns()) * n + kSetRows);  // the last block may look past the end
    parallel(n_threads_, (n + kTile - 1) / kTile, [&](int, Tasks& tasks) {
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        const int64_t begin = task * kTile, end = std::min(n, begin + kTile);
        for (int c = 0; c < layout_.n_columns(); ++c) {
          const uint8_t* from = pages_[p].bins + size_t(c / layout_.width) * n * layout_.stride + c % layout_.width;
          uint8_t* to = columns_[p].as<uint8_t>() + size_t(c) * n;
          for (int64_t i = begin; i < end; ++i) to[i] = from[i * layout_.stride];
        }
      }
    });
  }
}

const uint8_t* Workspace::column(int column, size_t page, size_t& step) const {
  const Page& p = pages_[page];
  if (const uint8_t* columns = columns_[page].as<uint8_t>()) {
    step = 1;
    return columns + size_t(column) * p.n_rows;
  }
  step = layout_.stride;
  return p.bins + size_t(column / layout_.width) * p.n_rows * layout_.stride + column % layout_.width;
}

// Where few rows leave a node and many stay, only those are moved: the bins beside the rows tell which. The child that keeps the others has
// no list of its rows, but marks. Trees on thin features peel off small leaves from a large rest, which would be copied every time. False
// where it would not pay.
bool Workspace::take_apart(Job& job) {
  static_assert(kFewestApart - kFewestApart / kApart > kFewRows, "who searches a small node reads its list");
  const Node& node = nodes_[job.node];
  const Place& place = layout_.places.of[node.split.feature];
  if (place.column != kBeside || !sample_.empty()) return false;
  auto visit_leaving = [&](size_t page, auto&& f) {
    for (int b = 0; b < place.n_stored; ++b) {
      if (job.sides.left[b] != job.sides.common) inverted_[page].visit(place.first + b, f);
    }
  };
  int64_t n_node = 0, n_leaving = 0;  // the latter with rows of other nodes
  for (size_t p = 0; p < pages_.size(); ++p) {
    n_node += range(job.node, p).end - range(job.node, p).begin;
    visit_leaving(p, [&](const uint32_t* rows, const uint32_t* end) { n_leaving += end - rows; });
  }
  if (n_node < kFewestApart || kApart * n_leaving > n_node) return false;
  std::vector<Marks> members(pages_.size());
  if (auto known = members_.find(job.node); known != members_.end()) {
    members = std::move(known->second);
    members_.erase(known);
  } else {
    for (size_t p = 0; p < pages_.size(); ++p) members[p] = mark_members(job.node, p);
  }
  const bool to_right = job.sides.common;
  const int buffer = nodes_[job.left].buffer;
  for (size_t p = 0; p < pages_.size(); ++p) {
    const Range r = range(job.node, p);
    uint32_t* to_rows = rows(buffer, p);
    int64_t n = 0;
    auto move = [&](auto record) {
      using Record = decltype(record);
      auto* from = reinterpret_cast<const Record*>(records(kAllRecords, p));
      auto* to = reinterpret_cast<Record*>(records(buffer, p));
      visit_leaving(p, [&](const uint32_t* leaving, const uint32_t* end) {
        for (; leaving < end; ++leaving) {
          const uint32_t row = *leaving;
          const uint64_t bit = uint64_t(1) << (row & 63);
          if (!(members[p][row >> 6] & bit)) continue;
          members[p][row >> 6] ^= bit;
          ++n;
          const int64_t at = to_right ? r.end - n : r.begin + n - 1;
          to_rows[at] = row;
          to[at] = from[row];
        }
      });
    };
    record_size_ == sizeof(Pair) ? move(Pair{}) : move(Single{});
    job.filled[2 * p].left = to_right ? r.end - r.begin - n : n;
  }
  members_[to_right ? job.left : job.right] = std::move(members);
  return true;
}

// A bit for each row of a page that is in a node.
Workspace::Marks Workspace::mark_members(int node, size_t page) const {
  const Range r = range(node, page);
  Marks marks((pages_[page].n_rows + 63) / 64, implicit(node) ? ~uint64_t(0) : 0);
  if (implicit(node)) {
    if (pages_[page].n_rows % 64) marks.back() = (uint64_t(1) << (pages_[page].n_rows % 64)) - 1;
    return marks;
  }
  const uint32_t* own = rows(nodes_[node].buffer, page);
  for (int64_t i = r.begin; i < r.end; ++i) marks[own[i] >> 6] |= uint64_t(1) << (own[i] & 63);
  return marks;
}

// Gives a node that has marks a list of its rows again, and their records.
void Workspace::list_rows(int node) {
  const auto known = members_.find(node);
  if (known == members_.end()) return;
  const int buffer = nodes_[node].buffer;
  for (size_t p = 0; p < pages_.size(); ++p) {
    uint32_t* to_rows = rows(buffer, p);
    auto list = [&](auto record) {
      using Record = decltype(record);
      auto* from = reinterpret_cast<const Record*>(records(kAllRecords, p));
      auto* to = reinterpret_cast<Record*>(records(buffer, p));
      int64_t at = range(node, p).begin;
      for (size_t w = 0; w < known->second[p].size(); ++w) {
        for (uint64_t left = known->second[p][w]; left; left &= left - 1, ++at) {
          const uint32_t row = uint32_t(w * 64 + __builtin_ctzll(left));
          to_rows[at] = row;
          to[at] = from[row];
        }
      }
    };
    record_size_ == sizeof(Pair) ? list(Pair{}) : list(Single{});
  }
  members_.erase(known);
}

// Sends the rows of each job's node to its children; where columns form one group, adds them to the children's histograms while their
// bins are still in the nearest cache.
void Workspace::split_rows(std::vector<Job>& jobs) {
  struct Part {
    int64_t first_task;
    Job* job;
    size_t page;
  };
  std::vector<Part> parts;
  int64_t n_tasks = 0, n_rows = 0;
  for (Job& job : jobs) {
    if (take_apart(job)) continue;
    list_rows(job.node);
    for (size_t p = 0; p < pages_.size(); ++p) {
      const Range r = range(job.node, p);
      if (r.begin == r.end) continue;
      parts.push_back({n_tasks, &job, p});
      n_tasks += (r.end - r.begin + kChunk - 1) / kChunk;
      n_rows += r.end - r.begin;
      const Place& place = layout_.places.of[nodes_[job.node].split.feature];
      if (place.column != kBeside) continue;
      job.marks.resize(pages_.size());
      job.marks[p] = mark_rows(p, place, job.sides, r.end - r.begin);
    }
  }
  const bool fused = this->fused();
  const int n_threads = n_rows * (fused ? layout_.width / 2 + 4 : 4) < kSerialWork ? 1 : n_threads_;
  make_scratch(n_threads);
  parallel(n_threads, n_tasks, [&](int participant, Tasks& tasks) {
    Scratch& scratch = scratch_[participant];
    const bool alone = n_threads == 1;
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const Part& part =
          *(std::upper_bound(parts.begin(), parts.end(), task, [](int64_t t, const Part& q) { return t < q.first_task; }) - 1);
      Job& job = *part.job;
      const size_t p = part.page;
      const Node& node = nodes_[job.node];
      const Range r = range(job.node, p);
      const int64_t first = r.begin + (task - part.first_task) * kChunk, n = std::min(kChunk, r.end - first);
      const Place& place = layout_.places.of[node.split.feature];
      const uint32_t* from_rows = job.implicit ? nullptr : rows(node.buffer, p) + first;
      const char* from_records = records(node.buffer, p) + first * record_size_;
      uint8_t left[kChunk];
      int64_t n_left;
      if (place.column == kBeside && !job.marks[p].empty()) {
        n_left = decide_marked(job.marks[p].data(), job.sides.common, from_rows, uint32_t(first), n, left);
      } else if (place.column == kBeside) {
        n_left = decide_beside(pages_[p], place, job.sides, from_rows, uint32_t(first), n, left);
      } else {
        size_t step;
        const uint8_t* codes = column(place.column, p, step);
        n_left = decide_rows(codes, step, job.sides.left, from_rows, uint32_t(first), n, r.end - first - n, left);
      }
      const int64_t n_right = n - n_left;
      // Chunk by chunk as they come, the left child fills its range, then comes the right one's. Every second thread writes from the ends
      // of the ranges: so each finds most of the rows it wrote when it comes to split the children. Where the left child ends is known
      // for one page only; with several, it is written from the node's begin, the right one from the node's end.
      const bool one = pages_.size() == 1 && node.split.counted, back = participant % 2;
      const int64_t middle = r.begin + node.split.left.count;
      auto claim = [&](bool right, int64_t begin, int64_t end, bool from_end, int64_t count) {
        Filled& filled = job.filled[2 * p + from_end];
        const int64_t before = (right ? filled.right : filled.left).fetch_add(count, std::memory_order_relaxed);
        return from_end ? end - before - count : begin + before;
      };
      const int64_t left_at = claim(false, r.begin, middle, one && back, n_left);
      const int64_t right_at = claim(true, middle, r.end, !one || back, n_right);
      uint32_t* to_rows = rows(nodes_[job.left].buffer, p);
      char* to_records = records(nodes_[job.left].buffer, p);
      scatter_rows(record_size_, left, from_rows, uint32_t(first), from_records, n, left_at, right_at, to_rows, to_records);
      if (!fused) continue;
      auto add = [&](int slot, int64_t at, int64_t count) {
        if (slot >= 0) add_to_histogram(scratch, slot, alone, p, 0, to_rows + at, 0, to_records + at * record_size_, count);
      };
      add(job.left_slot, left_at, n_left);
      add(job.right_slot, right_at, n_right);
    }
    flush(scratch, alone);
  });
  for (Job& job : jobs) {
    for (size_t p = 0; p < pages_.size(); ++p) {
      const Range r = range(job.node, p);
      const int64_t middle = r.begin + job.filled[2 * p].left + job.filled[2 * p + 1].left;
      range(job.left, p) = {r.begin, middle};
      range(job.right, p) = {middle, r.end};
      if (!nodes_[job.node].split.counted) {
        nodes_[job.left].sums.count += middle - r.begin;
        nodes_[job.right].sums.count += r.end - middle;
      }
    }
  }
}

}  // namespace sapwood
