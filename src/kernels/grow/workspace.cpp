// The life of a growing tree.
#include "grow/workspace.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/hash.hpp"
#include "core/pool.hpp"

namespace sapwood {
namespace {

constexpr size_t kHugePage = size_t(1) << 21;

}  // namespace

Buffer::Buffer(size_t size) {
  const size_t unit = size < 2 * kHugePage ? kLine : kHugePage;
  size = (size / unit + 1) * unit;
  memory_.reset(std::aligned_alloc(unit, size));
  if (!memory_) throw std::bad_alloc();
  if (unit == kHugePage) madvise(memory_.get(), size, MADV_HUGEPAGE);  // rows are visited far apart: fewer pages to look up
}

void Buffer::Free::operator()(void* p) const { std::free(p); }

Workspace::Workspace(Layout layout, std::vector<Page> pages, int n_threads, int64_t max_histogram_bytes)
    : layout_(std::move(layout)), pages_(std::move(pages)), n_threads_(std::max(1, n_threads)) {
  for (const Page& page : pages_) n_rows_ += page.n_rows;
  for (auto& buffer : row_buffers_) buffer = Buffer(size_t(n_rows_) * sizeof(uint32_t));
  max_slots_ = std::max<int64_t>(4, max_histogram_bytes / ((layout_.n_cells + 1) * 16));
  scratch_.resize(n_threads_);
  constrain({});
  make_columns();
  if (layout_.any_beside()) make_inverted();
}

void Workspace::constrain(Extras extras) {
  GrowingTree::constrain(std::move(extras));
  lone_ = LoneCells(layout_, extras_);
  few_rows_ = lone_.all() && layout_.n_cells <= kFewCells && searches_lone(nullptr) ? 0 : kFewRows;
}

void Workspace::start(void* records, const Format& format, const Rules& rules, int max_depth, uint64_t key, const uint8_t* allowed,
                      const int64_t* sample, int64_t n_sample) {
  format_ = format;
  rules_ = rules;
  key_ = key;
  max_depth_ = max_depth;
  record_size_ = format.mode == Mode::kSingle ? sizeof(Single) : sizeof(Pair);
  const bool keep = layout_.any_beside() && !sample;
  for (int i = 0; i <= keep; ++i) {
    if (!spare_records_[i].as<char>()) spare_records_[i] = Buffer(size_t(n_rows_) * sizeof(Pair));
  }
  record_buffers_[keep ? kAllRecords : 0] = static_cast<char*>(records);
  record_buffers_[1] = spare_records_[0].as<char>();
  if (keep) record_buffers_[0] = spare_records_[1].as<char>();
  members_.clear();
  free_slots_.clear();
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i]->node = -1;
    free_slots_.push_back(int(i));
  }
  nodes_.assign(1, Node{});
  nodes_[0].sums.count = sample ? n_sample : n_rows_;
  nodes_[0].buffer = sample ? 1 : keep ? kAllRecords : 0;
  ranges_.assign(pages_.size(), Range{});
  sample_.assign(sample ? pages_.size() : 0, {});
  const int64_t* at = sample;  // of each page: where its part of the sample begins
  for (size_t p = 0; p < pages_.size(); ++p) {
    const int64_t* end = sample ? std::lower_bound(at, sample + n_sample, pages_[p].start + pages_[p].n_rows) : nullptr;
    ranges_[p] = {0, sample ? end - at : pages_[p].n_rows};
    if (sample) sample_[p].resize(size_t(end - at));
    at = end;
  }

  const bool searched = can_split(nodes_[0]);
  const bool wanted = searched && !is_small(0);
  const bool fused = wanted && this->fused();
  const int slot = wanted ? take_slot(0) : -1;
  const int64_t n_all = nodes_[0].sums.count;
  const int n_threads = n_all * layout_.width < kSerialWork ? 1 : n_threads_;
  make_scratch(n_threads);
  if (fused || sample || format.mode == Mode::kNarrow) {
    const int64_t block = std::clamp<int64_t>(n_all / (4 * n_threads), 256, kBlockRows);
    std::vector<int64_t> begin(1, 0);  // of each page's tasks
    for (size_t p = 0; p < pages_.size(); ++p) begin.push_back(begin.back() + (ranges_[p].end + block - 1) / block);
    parallel(n_threads, begin.back(), [&](int participant, Tasks& tasks) {
      Scratch& scratch = scratch_[participant];
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        const size_t p = std::upper_bound(begin.begin(), begin.end(), task) - begin.begin() - 1;
        const int64_t first = (task - begin[p]) * block, n = std::min(block, ranges_[p].end - first);
        if (sample) take_sample(p, first, n, std::lower_bound(sample, sample + n_sample, pages_[p].start) + first);
        char* from = this->records(nodes_[0].buffer, p) + first * record_size_;
        const uint32_t* rows = sample ? this->rows(1, p) + first : nullptr;
        if (format.mode == Mode::kNarrow) {
          auto narrow = [&](int64_t begin, int64_t end) {  // rows with the same upper half of their ids
            auto* pairs = reinterpret_cast<Pair*>(from) + begin;
            const uint64_t global = uint64_t(pages_[p].start) + (rows ? rows[begin] : uint32_t(first + begin));
            const uint32_t low = uint32_t(pages_[p].start), upper = row_key(key, global);
            if (rows) return narrow_records(pairs, end - begin, [=](int64_t i) { return hash_row(upper, low + rows[begin + i]); });
            narrow_records(pairs, end - begin, upper, uint32_t(global));
          };
          // The ids of a page pass a multiple of 2^32 once at most.
          const int64_t passing = int64_t((uint64_t(1) << 32) - (uint64_t(pages_[p].start) & 0xffffffffu));
          const int64_t same = rows ? std::lower_bound(rows, rows + n, passing) - rows : std::clamp<int64_t>(passing - first, 0, n);
          if (same > 0) narrow(0, same);
          if (same < n) narrow(same, n);
        }
        if (fused) add_to_histogram(scratch, slot, n_threads == 1, p, 0, rows, uint32_t(first), from, n);
      }
      flush(scratch, n_threads == 1);
    });
  }
  if (!searched) return;
  if (wanted && !fused) {
    std::vector<Job> jobs(1);
    jobs[0].node = jobs[0].left = 0;
    jobs[0].left_slot = slot;
    build_histograms(jobs);
  }
  nodes_[0].sums = root_sums();
  if (extras_.shape_values()) nodes_[0].limits = with_value(Limits{}, nodes_[0].sums);
  find_splits({{0, -1}}, allowed, 0);
}

// Lists n sampled rows of a page, those from the first one on, and copies their records side by side.
//   sample  their global ids   IN
void Workspace::take_sample(size_t page, int64_t first, int64_t n, const int64_t* sample) {
  const char* from = records(0, page);
  uint32_t* list = rows(1, page) + first;
  for (int64_t i = 0; i < n; ++i) list[i] = uint32_t(sample[i] - pages_[page].start);
  std::copy(list, list + n, sample_[page].begin() + first);
  auto copy = [&](auto record) {
    using Record = decltype(record);
    Record* to = reinterpret_cast<Record*>(records(1, page)) + first;
    for (int64_t i = 0; i < n; ++i) to[i] = reinterpret_cast<const Record*>(from)[list[i]];
  };
  record_size_ == sizeof(Pair) ? copy(Pair{}) : copy(Single{});
}

Sides Workspace::sides_of(const Split& split) const {
  Sides sides;
  const int missing_bin = layout_.missing[split.feature] ? layout_.missing_bin[split.feature] : -1;
  sides.fill(layout_.places.of[split.feature], layout_.n_bins[split.feature],
             [&](int bin) { return bin == missing_bin ? split.missing_left : split.goes_left(bin); });
  return sides;
}

void Workspace::search_again(int node, const uint8_t* allowed) {
  if (!can_split(nodes_[node])) return;
  if (!is_small(node) && nodes_[node].histogram < 0) {
    std::vector<Job> jobs(1);
    jobs[0].node = jobs[0].left = node;
    jobs[0].left_slot = take_slot(node);
    build_histograms(jobs);
  }
  find_splits({{node, -1}}, allowed, node);
}

bool Workspace::force(int node, int feature, int bin, bool missing_left) {
  if (bin > 255 || extras_.kind(feature) != Kind::kNumber) return false;
  list_rows(node);
  Split split;
  split.feature = feature;
  split.bin = bin;
  split.missing_left = missing_left;
  split.any_missing = true;  // where missing values go is told
  const Sides sides = sides_of(split);
  const Place& place = layout_.places.of[feature];
  const int buffer = nodes_[node].buffer;
  Sums all;
  for (size_t p = 0; p < pages_.size(); ++p) {
    const Range r = range(node, p);
    for (int64_t i = r.begin; i < r.end; ++i) {
      const uint32_t row = implicit(node) ? uint32_t(i) : rows(buffer, p)[i];
      int64_t g = 0, word = 0;
      cell_of(records(buffer, p), i, format_, g, word);
      const Sums one{g, word >> format_.count_bits, 1};
      all = {all.g + one.g, all.h + one.h, all.count + 1};
      if (side_of(pages_[p], place, sides, row)) split.left = {split.left.g + one.g, split.left.h + one.h, split.left.count + 1};
    }
  }
  if (split.left.count == 0 || split.left.count == all.count) return false;
  if (node == 0) {
    nodes_[0].sums = all;  // a root too small to be searched has none yet
    if (extras_.shape_values()) nodes_[0].limits = with_value(Limits{}, all);
  }
  nodes_[node].split = split;
  set_forced_gain(node);
  return true;
}

// Whether a row goes left.
bool Workspace::side_of(const Page& page, const Place& place, const Sides& sides, uint32_t row) const {
  if (place.column == kBeside) return side_beside(place, sides, page.beside + page.begin[row], page.beside + page.begin[row + 1]);
  const int64_t at = (int64_t(place.column / layout_.width) * page.n_rows + row) * layout_.stride + place.column % layout_.width;
  return sides.left[page.bins[at]];
}

// The root's sums, in histogram units: from its rows, or from any column's bins.
Sums Workspace::root_sums() const {
  if (is_small(0) || layout_.n_columns() == 0) return sum_rows();
  Sums sums;
  const int64_t* c = cells(nodes_[0].histogram);
  for (uint32_t b = 0; b < layout_.column_begin[1]; ++b) {
    const int64_t word = format_.words() == 1 ? c[b] : c[2 * b + 1];
    sums.g += format_.words() == 1 ? word >> format_.count_bits : c[2 * b];
    sums.h += format_.words() == 1 ? word & format_.count_mask() : word >> format_.count_bits;
    sums.count += word & format_.count_mask();
  }
  return sums;
}

Sums Workspace::sum_rows() const {
  Sums sums;
  for (size_t p = 0; p < pages_.size(); ++p) {
    for (int64_t i = range(0, p).begin; i < range(0, p).end; ++i) {
      int64_t g = 0, word = 0;
      cell_of(records(nodes_[0].buffer, p), i, format_, g, word);
      sums.g += g;
      sums.h += word >> format_.count_bits;
      ++sums.count;
    }
  }
  return sums;
}

int Workspace::advance(const std::vector<int>& nodes, bool search, const uint8_t* allowed) {
  const int first_child = int(nodes_.size());
  std::vector<Job> jobs(nodes.size());
  std::vector<std::pair<int, int>> work;  // (child, the sibling to subtract it from or -1)
  nodes_.resize(nodes_.size() + 2 * nodes.size());
  ranges_.resize(nodes_.size() * pages_.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    Job& job = jobs[i];
    Node& node = nodes_[nodes[i]];
    job.node = nodes[i];
    job.implicit = implicit(job.node);
    job.left = first_child + 2 * int(i);
    job.right = job.left + 1;
    make_children(job.node, job.left);
    nodes_[job.left].buffer = nodes_[job.right].buffer = node.buffer == 1 ? 0 : 1;
    job.sides = sides_of(node.split);
    job.filled = std::make_unique<Filled[]>(2 * pages_.size());
  }
  for (Job& job : jobs) {
    const bool left_small = nodes_[job.left].sums.count <= nodes_[job.right].sums.count;
    const int small = left_small ? job.left : job.right, large = left_small ? job.right : job.left;
    if (search && can_split(nodes_[large]) && is_small(large)) {
      release_slot(job.node);
      if (can_split(nodes_[small])) work.emplace_back(small, -1);
      work.emplace_back(large, -1);
    } else if (search && can_split(nodes_[large])) {
      int& small_slot = left_small ? job.left_slot : job.right_slot;
      int& large_slot = left_small ? job.right_slot : job.left_slot;
      if (nodes_[job.node].histogram >= 0) {
        small_slot = take_slot(small);
        std::swap(nodes_[large].histogram, nodes_[job.node].histogram);
        slots_[nodes_[large].histogram]->node = large;
        work.emplace_back(small, large);
      } else {
        if (can_split(nodes_[small])) {
          if (!is_small(small)) small_slot = take_slot(small);
          work.emplace_back(small, -1);
        }
        large_slot = take_slot(large);
        work.emplace_back(large, -1);
      }
    } else {
      release_slot(job.node);
    }
  }
  split_rows(jobs);
  if (!fused()) build_histograms(jobs);
  find_splits(work, allowed, first_child);
  return first_child;
}

}  // namespace sapwood
