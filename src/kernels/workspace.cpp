#include "workspace.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

#include "hash.hpp"
#include "histogram.hpp"
#include "leafsets.hpp"
#include "partition.hpp"
#include "pool.hpp"

namespace sapwood {
namespace {

constexpr int64_t kChunk = 1024;           // rows partitioned at once: their bins are still near when the histogram needs them
constexpr int64_t kSerialWork = 40000;     // (row, feature) pairs below which threads cost more than they bring
constexpr int64_t kSerialScan = 6000;      // bins, likewise
constexpr int64_t kColumnBytes = 1 << 20;  // pages larger than this get a copy by columns
constexpr int64_t kClear = 1 << 17;        // bytes cleared at a time
constexpr int64_t kFewestApart = 1024;     // rows of a node below which all are moved
constexpr int64_t kApart = 4;              // times as many rows as leave it must a node have, or all are moved
constexpr int kAllRecords = 2;             // the buffer that has the records of all rows in their order
constexpr size_t kLine = 64, kHugePage = size_t(1) << 21;

void lock(std::atomic_flag& flag) {
  for (int spin = 0; flag.test_and_set(std::memory_order_acquire); ++spin) {
    if (spin > 100) std::this_thread::yield();
  }
}

}  // namespace

Buffer::Buffer(size_t size) {
  const size_t unit = size < 2 * kHugePage ? kLine : kHugePage;
  size = (size / unit + 1) * unit;
  memory_.reset(std::aligned_alloc(unit, size));
  if (!memory_) throw std::bad_alloc();
  if (unit == kHugePage) madvise(memory_.get(), size, MADV_HUGEPAGE);  // rows are visited far apart: fewer pages to look up
}

void Buffer::Free::operator()(void* p) const { std::free(p); }

// How many rows of the children were written from one end of their ranges.
struct alignas(kLine) Filled {
  std::atomic<int64_t> left{0}, right{0};
};

// A node being split.
struct Workspace::Job {
  int node, left = -1, right = -1;
  bool implicit = false;                // the root: its rows are 0, 1, 2, ...
  int left_slot = -1, right_slot = -1;  // histograms to build, or -1
  Sides sides;
  std::unique_ptr<Filled[]> filled;  // (n_pages, 2)
  std::vector<Marks> marks;          // of each page, if it has any: the rows that do not go the way of the feature's common bin
};

Workspace::Workspace(Layout layout, std::vector<Page> pages, int n_threads, int64_t max_histogram_bytes)
    : layout_(std::move(layout)), pages_(std::move(pages)), n_threads_(std::max(1, n_threads)) {
  for (const Page& page : pages_) n_rows_ += page.n_rows;
  for (auto& buffer : row_buffers_) buffer = Buffer(size_t(n_rows_) * sizeof(uint32_t));
  max_slots_ = std::max<int64_t>(4, max_histogram_bytes / ((layout_.n_cells + 1) * 16));
  scratch_.resize(n_threads_);
  make_columns();
  if (layout_.any_beside()) make_inverted();
}

// To find the side of each row of a node in its list costs far more than to look up a bit; to set the bits takes the few rows that a bin
// has. So what lies beside the rows is kept by bin, too.
void Workspace::make_inverted() {
  inverted_.resize(pages_.size());
  for (size_t p = 0; p < pages_.size(); ++p) {
    const Page& page = pages_[p];
    auto& [begin, rows] = inverted_[p];
    begin.assign(size_t(layout_.places.n_beside) + 1, 0);
    const uint32_t n = page.begin[page.n_rows];
    for (uint32_t k = 0; k < n; ++k) ++begin[page.beside[k] + 1];
    for (size_t b = 1; b < begin.size(); ++b) begin[b] += begin[b - 1];
    rows.resize(n);
    for (int64_t row = 0; row < page.n_rows; ++row) {
      for (uint32_t k = page.begin[row]; k < page.begin[row + 1]; ++k) rows[begin[page.beside[k]]++] = uint32_t(row);
    }
    for (size_t b = begin.size() - 1; b > 0; --b) begin[b] = begin[b - 1];
    begin[0] = 0;
    mean_list_ += n;
  }
  mean_list_ = mean_list_ / std::max<int64_t>(1, n_rows_) + 1;
}

// A bit for each row of a page that does not go the way of the feature's common bin; nothing where looking through the lists of a node's
// rows is less work.
Workspace::Marks Workspace::mark_rows(size_t page, const Place& place, const Sides& sides, int64_t n_node) const {
  const auto& [begin, rows] = inverted_[page];
  const int64_t n_words = (pages_[page].n_rows + 63) / 64;
  int64_t work = n_words / 4;
  for (int b = 0; b < place.n_stored; ++b) {
    if (sides.left[b] != sides.common) work += begin[place.first + b + 1] - begin[place.first + b];
  }
  if (work > 4 * n_node) return {};
  Marks marks(n_words);
  for (int b = 0; b < place.n_stored; ++b) {
    if (sides.left[b] == sides.common) continue;
    for (uint32_t k = begin[place.first + b]; k < begin[place.first + b + 1]; ++k) marks[rows[k] >> 6] |= uint64_t(1) << (rows[k] & 63);
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

void Workspace::make_scratch(int n) {
  for (int i = 0; i < n; ++i) {
    Scratch& s = scratch_[i];
    if (s.table.as<char>()) continue;
    const size_t table = std::max(size_t(layout_.n_cells + 1) * 16, size_t(layout_.padded_width()) * kColumnWords * sizeof(uint64_t));
    s.table = Buffer(table);
    std::memset(s.table.as<char>(), 0, table);
  }
}

// A zeroed histogram for a node. Past the memory bound, the one whose node promises least is dropped: its children will be counted
// row by row, to the same result.
int Workspace::take_slot(int node) {
  if (free_slots_.empty() && int64_t(slots_.size()) >= max_slots_ && !extras_.joint) {
    int coldest = -1;
    for (size_t i = 0; i < slots_.size(); ++i) {
      const int owner = slots_[i]->node;
      if (owner < 0 || nodes_[owner].left >= 0 || nodes_[owner].split.feature < 0) continue;  // in use by this very split
      if (coldest < 0 || nodes_[owner].split.gain < nodes_[slots_[coldest]->node].split.gain) coldest = int(i);
    }
    if (coldest >= 0) release_slot(slots_[coldest]->node);
  }
  if (free_slots_.empty()) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->cells = Buffer(size_t(layout_.n_cells + 1) * 16);
    free_slots_.push_back(int(slots_.size()) - 1);
  }
  const int slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot]->node = node;
  nodes_[node].histogram = slot;
  char* memory = reinterpret_cast<char*>(cells(slot));
  const int64_t size = (layout_.n_cells + 1) * format_.words() * int64_t(sizeof(int64_t));
  parallel(size < 2 * kClear ? 1 : n_threads_, (size + kClear - 1) / kClear, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) std::memset(memory + task * kClear, 0, size_t(std::min(kClear, size - task * kClear)));
  });
  return slot;
}

void Workspace::release_slot(int node) {
  const int slot = nodes_[node].histogram;
  if (slot < 0) return;
  slots_[slot]->node = -1;
  nodes_[node].histogram = -1;
  free_slots_.push_back(slot);
}

// Moves a thread's pending sums into the histogram they belong to.
void Workspace::flush(Scratch& scratch, bool alone) {
  if (scratch.n_pending == 0) return;
  const int n_parts = layout_.n_groups + 1;
  const int group = scratch.slot % n_parts, slot = scratch.slot / n_parts;
  const bool beside = group == layout_.n_groups;
  const int64_t first = beside ? layout_.beside_begin() : layout_.column_begin[group * layout_.width];
  const int64_t last = beside ? layout_.n_cells : layout_.column_begin[std::min(layout_.n_columns(), (group + 1) * layout_.width)];
  const bool packed = packs(group);
  Slot& target = *slots_[slot];
  int64_t* to = cells(slot);
  int64_t* from = scratch.table.as<int64_t>();
  const int n_segments = alone ? 1 : int(std::size(target.locks));
  const int turn = int(&scratch - scratch_.data());
  for (int s = 0; s < n_segments; ++s) {
    const int segment = (s + turn) % n_segments;  // threads start at different places
    auto cut = [&](int64_t begin, int64_t end, int k) { return begin + (end - begin) * k / n_segments; };
    if (!alone) lock(target.locks[segment]);
    if (packed && beside) {
      const int64_t a = cut(0, last - first, segment), b = cut(0, last - first, segment + 1);
      unpack_block(from + a, b - a, format_.count_bits, to + 2 * (first + a));
    } else if (packed) {
      const int first_column = group * layout_.width, last_column = std::min(layout_.n_columns(), first_column + layout_.width);
      for (int64_t c = cut(first_column, last_column, segment); c < cut(first_column, last_column, segment + 1); ++c) {
        unpack_block(from + (c - first_column) * kColumnWords, layout_.places.n_codes[c], format_.count_bits,
                     to + 2 * int64_t(layout_.column_begin[c]));
      }
    } else {
      const int64_t a = cut(first, last, segment), b = cut(first, last, segment + 1);
      move_words(from + a * format_.words(), (b - a) * format_.words(), to + a * format_.words());
    }
    if (!alone) target.locks[segment].clear(std::memory_order_release);
  }
  // What the padding counted: another tree's cells may have another size, and lie where it is.
  if (packed && !beside) {
    for (int c = std::min(layout_.width, layout_.n_columns() - group * layout_.width); c < layout_.padded_width(); ++c) {
      from[c * kColumnWords] = 0;
    }
  } else if (!beside) {
    std::fill_n(from + layout_.n_cells * format_.words(), format_.words(), 0);
  }
  scratch.n_pending = 0;
}

// Adds up to kBlockRows rows of a group of columns, or of what lies beside the rows.
void Workspace::add_to_histogram(Scratch& scratch, int slot, bool alone, size_t page, int group, const uint32_t* rows, uint32_t first,
                                 const char* records, int64_t n) {
  const Page& p = pages_[page];
  const bool beside = group == layout_.n_groups;
  const bool packed = packs(group);
  void* table = cells(slot);
  if (!alone || packed) {
    const int key = slot * (layout_.n_groups + 1) + group;
    if (scratch.slot != key || (packed && scratch.n_pending + n > kBlockRows)) flush(scratch, alone);
    scratch.slot = key;
    scratch.n_pending += n;
    table = scratch.table.as<void>();
  }
  if (beside) {
    int64_t* cells = static_cast<int64_t*>(table) + (packed ? 0 : int64_t(layout_.beside_begin()) * format_.words());
    return add_beside_any(p.begin, p.beside, rows, first, records, n, format_, packed, cells);
  }
  const uint8_t* bins = p.bins + size_t(group) * p.n_rows * layout_.stride;
  const uint32_t* offsets = layout_.offsets.data() + group * layout_.padded_width();
  add_rows_any(bins, layout_.stride, rows, first, records, n, layout_.padded_width(), offsets, format_, table);
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

void Workspace::read_rows(int node, int group, FewRows& out) const {
  out.n = 0;
  const int buffer = nodes_[node].buffer;
  for (size_t p = 0; p < pages_.size(); ++p) {
    const Range r = range(node, p);
    const Page& page = pages_[p];
    const uint8_t* bins = page.bins + size_t(group) * page.n_rows * layout_.stride;
    for (int64_t i = r.begin; i < r.end; ++i, ++out.n) {
      const size_t row = implicit(node) ? size_t(i) : rows(buffer, p)[i];
      if (group < layout_.n_groups) {
        out.bins[out.n] = bins + row * layout_.stride;
      } else {
        out.beside[out.n] = page.beside + page.begin[row];
        out.beside_end[out.n] = page.beside + page.begin[row + 1];
      }
      cell_of(records(buffer, p), i, format_, out.g[out.n], out.word[out.n]);
    }
  }
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

// Where few rows leave a node and many stay, only those are moved: the bins beside the rows tell which. The child that keeps the others has
// no list of its rows, but marks. Trees on thin features peel off small leaves from a large rest, which would be copied every time. False
// where it would not pay.
bool Workspace::take_apart(Job& job) {
  static_assert(kFewestApart - kFewestApart / kApart > kFewRows, "who searches a small node reads its list");
  const Node& node = nodes_[job.node];
  const Place& place = layout_.places.of[node.split.feature];
  if (place.column != kBeside || !sample_.empty()) return false;
  auto visit_leaving = [&](size_t page, auto&& f) {
    const std::vector<uint32_t>& begin = inverted_[page].begin;
    for (int b = 0; b < place.n_stored; ++b) {
      if (job.sides.left[b] != job.sides.common) f(begin[place.first + b], begin[place.first + b + 1]);
    }
  };
  int64_t n_node = 0, n_leaving = 0;  // the latter with rows of other nodes
  for (size_t p = 0; p < pages_.size(); ++p) {
    n_node += range(job.node, p).end - range(job.node, p).begin;
    visit_leaving(p, [&](uint32_t begin, uint32_t end) { n_leaving += end - begin; });
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
      visit_leaving(p, [&](uint32_t begin, uint32_t end) {
        for (uint32_t k = begin; k < end; ++k) {
          const uint32_t row = inverted_[p].rows[k];
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

// Adds the rows of the jobs' children to their histograms, one group of columns after the other, then what lies beside the rows.
void Workspace::build_histograms(std::vector<Job>& jobs) {
  struct Part {
    int64_t first_task;
    int node, slot, group;
    size_t page;
    bool implicit;
  };
  std::vector<Part> parts;
  int64_t n_tasks = 0, work = 0;
  for (Job& job : jobs) {
    for (auto [node, slot] : {std::pair(job.left, job.left_slot), std::pair(job.right, job.right_slot)}) {
      if (slot < 0) continue;
      list_rows(node);
      for (int group = 0; group < layout_.n_groups + layout_.any_beside(); ++group) {
        for (size_t p = 0; p < pages_.size(); ++p) {
          const Range r = range(node, p);
          if (r.begin == r.end) continue;
          parts.push_back({n_tasks, node, slot, group, p, implicit(node)});
          n_tasks += (r.end - r.begin + kBlockRows - 1) / kBlockRows;
          work += (r.end - r.begin) * (group < layout_.n_groups ? layout_.width : mean_list_);
        }
      }
    }
  }
  if (!n_tasks) return;
  const int n_threads = n_tasks > 1 && work >= kSerialWork ? n_threads_ : 1;
  make_scratch(n_threads);
  parallel(n_threads, n_tasks, [&](int participant, Tasks& tasks) {
    Scratch& scratch = scratch_[participant];
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const Part& part =
          *(std::upper_bound(parts.begin(), parts.end(), task, [](int64_t t, const Part& q) { return t < q.first_task; }) - 1);
      const Range r = range(part.node, part.page);
      const int64_t first = r.begin + (task - part.first_task) * kBlockRows, n = std::min<int64_t>(kBlockRows, r.end - first);
      const int buffer = nodes_[part.node].buffer;
      add_to_histogram(scratch, part.slot, n_threads == 1, part.page, part.group, part.implicit ? nullptr : rows(buffer, part.page) + first,
                       uint32_t(first), records(buffer, part.page) + first * record_size_, n);
    }
    flush(scratch, n_threads == 1);
  });
}

// Searches one small node after the other, unit by unit.
class Workspace::Search {
 public:
  explicit Search(const Workspace& workspace) : w_(workspace) {}

  // Adds the node's rows to the cells of a unit; `last` is the end of the units this thread will ask for next.
  void fill(int node, int unit, int last) {
    const Layout& layout = w_.layout_;
    const bool beside = unit >= layout.n_columns();
    const int group = beside ? layout.n_groups : unit / layout.width;
    if (node_ != node || group_ != group) {
      w_.read_rows(node_ = node, group_ = group, rows_);
      first_ = last_ = 0;
    }
    if (beside) {
      if (unit < first_ || unit >= last_) collect(unit, last);
      for (uint32_t k = begin_[unit - first_]; k < begin_[unit - first_ + 1]; ++k) add(found_[k].code, found_[k].row);
    } else {
      const int column = unit % layout.width;
      for (int i = 0; i < rows_.n; ++i) add(rows_.bins[i][column], i);
    }
  }
  FewCells cells;

 private:
  struct Found {
    uint8_t code, row;
  };
  void add(uint8_t code, int row) { cells.add(code, rows_.g[row], rows_.word[row]); }

  // Sorts what lies beside the rows by unit, for the units [first, last).
  void collect(int first, int last) {
    const Layout& layout = w_.layout_;
    first_ = first, last_ = last;
    auto bin_of = [&](int unit) { return unsigned(layout.places.of[layout.places.members[layout.member_begin[unit]]].first); };
    const uint32_t low = bin_of(first), high = last < layout.n_units() ? bin_of(last) : uint32_t(layout.places.n_beside);
    auto visit = [&](auto&& f) {
      for (int i = 0; i < rows_.n; ++i) {
        for (const uint32_t* p = std::lower_bound(rows_.beside[i], rows_.beside_end[i], low); p < rows_.beside_end[i] && *p < high; ++p) {
          f(layout.beside_unit[*p], *p, i);
        }
      }
    };
    begin_.assign(size_t(last - first) + 2, 0);
    visit([&](uint32_t unit, uint32_t, int) { ++begin_[unit - first + 2]; });
    for (size_t k = 2; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
    found_.resize(begin_.back());
    visit([&](uint32_t unit, uint32_t bin, int row) {
      found_[begin_[unit - first + 1]++] = {uint8_t(bin - bin_of(int(unit))), uint8_t(row)};
    });
  }

  const Workspace& w_;
  FewRows rows_;
  int node_ = -1, group_ = -1;   // whose rows these are
  int first_ = 0, last_ = 0;     // units that were collected
  std::vector<uint32_t> begin_;  // of each unit's
  std::vector<Found> found_;
};

Bins Workspace::bins_of(uint32_t feature) const {
  return {layout_.places.of[feature], layout_.n_bins[feature] - layout_.missing[feature], bool(layout_.missing[feature])};
}

// Turns the parent's histogram of a unit into the other child's.
void Workspace::subtract_unit(int unit, int parent, int child) const {
  const int feature = int(layout_.places.members[layout_.member_begin[unit]]), words = format_.words();
  const int64_t from = unit < layout_.n_columns() ? layout_.column_begin[unit] : layout_.cell(feature);
  const int64_t to = unit < layout_.n_columns() ? layout_.column_begin[unit + 1] : from + layout_.places.of[feature].n_stored;
  subtract_words(cells(nodes_[parent].histogram) + from * words, cells(nodes_[child].histogram) + from * words, (to - from) * words);
}

// Sums a feature's bins in a node that has a histogram; returns those of the missing one.
Sums Workspace::sum_bins_of(int node, uint32_t feature, Candidates& c) const {
  const int64_t* at = cells(nodes_[node].histogram) + int64_t(layout_.cell(int(feature))) * format_.words();
  return sum_bins(at, bins_of(feature), format_, nodes_[node].sums, c);
}

// The best split of several nodes on one feature. Its levels are put in order by what they sum up to in all of them.
void Workspace::find_joint(const std::vector<int>& nodes, uint32_t feature, int first_child, Split& split) const {
  const Kind kind = extras_.kind(int(feature));
  std::optional<LevelOrder> order;
  Sums all, all_missing;
  Candidates together;
  if (kind != Kind::kNumber) {
    for (int node : nodes) {
      Candidates c;
      all_missing += sum_bins_of(node, feature, c);
      all += nodes_[node].sums;
      for (int b = 0; b < c.n; ++b) {
        const bool first = node == nodes[0];
        together.g[b] = c.g[b] + (first ? 0 : together.g[b]);
        together.h[b] = c.h[b] + (first ? 0 : together.h[b]);
        together.count[b] = c.count[b] + (first ? 0 : together.count[b]);
        together.bin[b] = b;
      }
      together.n = c.n;
    }
    const LevelSums levels(together);
    order.emplace(levels.of, levels.code, levels.n, kind, extras_.categories, rules_.hessian_unit, all_missing.count > 0);
    arrange(*order, levels, together);
  }
  JointScores joint;
  int n = 0;
  for (int node : nodes) {
    Candidates c;
    const Sums missing = sum_bins_of(node, feature, c);
    if (order) arrange(*order, LevelSums(c), c);
    add_joint(c, missing, sought(node, feature), order && order->sorted() ? extras_.categories.l2 : 0, joint);
    n = c.n;
  }
  choose_joint(joint, n, sought(first_child, feature), split);
  if (!order || split.gain <= 0) return;
  const int64_t n_left = together.count[split.bin] + (split.missing_left ? all_missing.count : 0);
  split.levels = order->levels(split.bin, 2 * n_left > all.count);
  split.by_levels = true;
  split.bin = 0;
}

// One split for all nodes of a level, also those that have too few rows to be searched.
void Workspace::find_joint_split(const std::vector<std::pair<int, int>>& work, const uint8_t* allowed, int first_child) {
  std::vector<int> nodes;  // that are searched
  for (auto [child, sibling] : work) {
    for (int node : {child, sibling}) {
      if (node >= 0 && can_split(nodes_[node])) nodes.push_back(node);
    }
  }
  if (nodes.empty()) return;
  const int n_threads = int64_t(nodes.size()) * layout_.n_cells < kSerialScan ? 1 : n_threads_;
  std::vector<Split> best(n_threads);
  parallel(n_threads, layout_.n_units(), [&](int participant, Tasks& tasks) {
    for (int64_t unit; (unit = tasks.claim()) >= 0;) {
      for (auto [child, sibling] : work) {
        if (sibling >= 0) subtract_unit(int(unit), sibling, child);
      }
      for (uint32_t m = layout_.member_begin[unit]; m < layout_.member_begin[unit + 1]; ++m) {
        const uint32_t f = layout_.places.members[m];
        if (allowed && !allowed[f]) continue;  // the first node's features are those of its level
        Split split;
        find_joint(nodes, f, first_child, split);
        split.feature = int(f);
        compare(split, first_child, best[participant]);
      }
    }
  });
  Split top;
  for (const Split& split : best) {
    if (split.gain > 0 && (top.gain <= 0 || better(split, top))) top = split;
  }
  if (top.gain <= 0) return;
  int64_t n_left = 0, n_all = 0;
  top.counted = false;
  for (size_t node = size_t(first_child); node < nodes_.size(); ++node) nodes_[node].split = top;
  for (int node : nodes) {
    Candidates c;
    const Sums missing = sum_bins_of(node, uint32_t(top.feature), c);
    const LevelSums bins(c);
    Split& split = nodes_[node].split;
    split.counted = true;
    split.left = top.missing_left ? missing : Sums{};
    for (int b = 0; b < bins.n; ++b) {
      if (top.goes_left(b)) split.left += bins.of[b];
    }
    n_left += split.left.count, n_all += nodes_[node].sums.count;
  }
  if (!top.any_missing) {
    for (size_t node = size_t(first_child); node < nodes_.size(); ++node) nodes_[node].split.missing_left = 2 * n_left > n_all;
  }
}

void Workspace::find_splits(const std::vector<std::pair<int, int>>& work, const uint8_t* allowed, int first_child) {
  if (work.empty()) return;
  if (extras_.joint) return find_joint_split(work, allowed, first_child);
  const int n_features = layout_.n_features, n_units = layout_.n_units(), words = format_.words();
  int64_t n_bins_all = 0;  // to look at, roughly
  for (auto [child, sibling] : work) {
    n_bins_all += is_small(child) ? nodes_[child].sums.count * (layout_.n_columns() + mean_list_) + n_units : layout_.n_cells;
    if (sibling >= 0) n_bins_all += layout_.n_cells;
  }
  const int n_threads = n_bins_all < kSerialScan ? 1 : n_threads_;
  const int per_task = n_threads == 1 ? n_units : std::max(1, std::min(n_units / (4 * n_threads), 16));
  const int64_t n_blocks = (n_units + per_task - 1) / per_task;
  std::vector<Split> best(2 * work.size() * n_threads);
  parallel(n_threads, n_blocks * int64_t(work.size()), [&](int participant, Tasks& tasks) {
    Search few(*this);
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const size_t w = size_t(task / n_blocks);
      const auto [child, sibling] = work[w];
      const int begin = int(task % n_blocks) * per_task, end = std::min(n_units, begin + per_task);
      for (int unit = begin; unit < end; ++unit) {
        const uint32_t *first = &layout_.places.members[layout_.member_begin[unit]],
                       *last = &layout_.places.members[layout_.member_begin[unit + 1]];
        auto search = [&](int node, int which) {
          auto may = [&](uint32_t f) { return !allowed || allowed[size_t(node - first_child) * n_features + f]; };
          if (!can_split(nodes_[node]) || std::none_of(first, last, may)) return;
          const bool small = is_small(node);
          if (small) few.fill(node, unit, end);
          for (const uint32_t* f = first; f < last; ++f) {
            if (!may(*f)) continue;
            const Bins bins = bins_of(*f);
            Split split;
            if (small) {
              scan_few(few.cells, bins.place.column == kBeside ? 0 : bins.place.first, bins, format_, sought(node, *f), split);
            } else {
              scan_bins(cells(nodes_[node].histogram) + int64_t(layout_.cell(int(*f))) * words, bins, format_, sought(node, *f), split);
            }
            split.feature = int(*f);
            compare(split, node, best[(w * n_threads + participant) * 2 + which]);
          }
          if (small) few.cells.clear();
        };
        if (sibling >= 0) {
          subtract_unit(unit, sibling, child);
          search(sibling, 1);
        }
        search(child, 0);
      }
    }
  });
  for (size_t w = 0; w < work.size(); ++w) {
    for (int which = 0; which < 2; ++which) {
      const int node = which ? work[w].second : work[w].first;
      if (node < 0) continue;
      Split top;
      for (int t = 0; t < n_threads; ++t) {
        const Split& split = best[(w * n_threads + t) * 2 + which];
        if (split.gain > 0 && (top.gain <= 0 || better(split, top))) top = split;
      }
      take_split(node, top);
      if (top.gain <= 0 || is_small(node)) release_slot(node);
    }
  }
}

void Workspace::finish(const std::vector<int>& leaves, Sums* sums, void* leaf_of_row, int leaf_size) {
  struct Part {
    int64_t first_task;
    int leaf;
    size_t page;
  };
  constexpr int64_t kRows = 8192;
  for (int leaf : leaves) list_rows(leaf);
  std::vector<Part> parts;
  std::vector<std::atomic<int64_t>> g(leaves.size()), h(leaves.size());
  int64_t n_tasks = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    sums[i] = {};
    for (size_t p = 0; p < pages_.size(); ++p) {
      const Range r = range(leaves[i], p);
      sums[i].count += r.end - r.begin;
      if (r.begin == r.end) continue;
      parts.push_back({n_tasks, int(i), p});
      n_tasks += (r.end - r.begin + kRows - 1) / kRows;
    }
  }
  const bool found = !sample_.empty() && strike_leaves(leaves, leaf_of_row, leaf_size);
  const int n_threads = n_rows_ < 20000 ? 1 : n_threads_;
  parallel(n_threads, n_tasks, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const Part& part =
          *(std::upper_bound(parts.begin(), parts.end(), task, [](int64_t t, const Part& q) { return t < q.first_task; }) - 1);
      const int node = leaves[part.leaf], buffer = nodes_[node].buffer;
      const Range r = range(node, part.page);
      const int64_t first = r.begin + (task - part.first_task) * kRows, n = std::min(kRows, r.end - first);
      const Sums chunk = sum_records(records(buffer, part.page) + first * record_size_, n, format_.mode);
      g[part.leaf].fetch_add(chunk.g, std::memory_order_relaxed);
      h[part.leaf].fetch_add(chunk.h, std::memory_order_relaxed);
      if (found) continue;
      const uint32_t* from = implicit(node) ? nullptr : rows(buffer, part.page) + first;
      auto scatter = [&](auto* out) {
        using Leaf = std::remove_pointer_t<decltype(out)>;
        out += pages_[part.page].start;
        for (int64_t i = 0; i < n; ++i) out[from ? int64_t(from[i]) : first + i] = Leaf(part.leaf);
      };
      if (leaf_size == 1) scatter(static_cast<uint8_t*>(leaf_of_row));
      if (leaf_size == 2) scatter(static_cast<uint16_t*>(leaf_of_row));
      if (leaf_size == 4) scatter(static_cast<uint32_t*>(leaf_of_row));
    }
  });
  for (size_t i = 0; i < leaves.size(); ++i) sums[i].g = g[i], sums[i].h = h[i];
  if (!sample_.empty() && !found) find_leaves(leaves, leaf_of_row, leaf_size);
}

// Finds the leaves of all rows by sets of leaves (see leafsets.hpp), if the tree is small enough and all its columns are laid out as such.
bool Workspace::strike_leaves(const std::vector<int>& leaves, void* leaf_of_row, int leaf_size) const {
  struct Strike {
    int column;
    uint8_t low, width;  // codes low, ..., low + width are on one side: the right one, unless the others are
    int8_t others;
    uint8_t leaves;
  };
  if (leaves.size() > kSetLeaves || leaf_size != 1) return false;
  for (const Buffer& columns : columns_) {
    if (!columns.as<char>()) return false;
  }
  const LeafNumbers numbers(int(nodes_.size()), [&](int i) { return std::pair(nodes_[i].left, nodes_[i].right); });
  std::vector<Strike> planes[kSetLeaves / kPlaneLeaves];
  for (const Node& node : nodes_) {
    if (node.left < 0) continue;
    const Place& place = layout_.places.of[node.split.feature];
    if (place.column == kBeside) return false;
    const Sides sides = sides_of(node.split);
    const uint8_t *begin = sides.left, *end = begin + layout_.places.n_codes[place.column];
    Strike strike{place.column, 0, 0, 0, 0};
    bool one = false;
    for (uint8_t side : {0, 1}) {  // the codes of which side lie side by side?
      const uint8_t* low = std::find(begin, end, side);
      const uint8_t* high = std::find(low, end, uint8_t(1 - side));
      one = low < end && std::find(high, end, side) == end;
      if (!one) continue;
      strike.low = uint8_t(low - begin), strike.width = uint8_t(high - low - 1), strike.others = side ? -1 : 0;
      break;
    }
    if (!one) return false;
    numbers.visit_planes(node.left, [&](int plane, uint8_t struck) {
      strike.leaves = struck;
      planes[plane].push_back(strike);
    });
  }
  std::vector<Strike> strikes;
  std::vector<int64_t> plane_begin(1, 0);
  const int n_planes = (int(leaves.size()) + kPlaneLeaves - 1) / kPlaneLeaves;
  for (int p = 0; p < n_planes; ++p) {
    strikes.insert(strikes.end(), planes[p].begin(), planes[p].end());
    plane_begin.push_back(int64_t(strikes.size()));
  }
  uint8_t number[kSetLeaves] = {};  // of a leaf counted from the left
  for (size_t i = 0; i < leaves.size(); ++i) number[numbers.first[leaves[i]]] = uint8_t(i);
  constexpr int64_t kRows = 64 * kSetRows;
  for (size_t p = 0; p < pages_.size(); ++p) {
    const int64_t n = pages_[p].n_rows;
    const uint8_t* columns = columns_[p].as<uint8_t>();
    uint8_t* out = static_cast<uint8_t*>(leaf_of_row) + pages_[p].start;
    parallel(n_threads_, (n + kRows - 1) / kRows, [&](int, Tasks& tasks) {
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        for (int64_t row = task * kRows; row < std::min(n, (task + 1) * kRows); row += kSetRows) {
          alignas(32) uint8_t leaf[kSetRows];
          auto ask = [&](const Strike& s, i8x32& right_x, i8x32& right_y) {
            const uint8_t* codes = columns + size_t(s.column) * n + row;
            const u8x32 low = u8x32{} + s.low, width = u8x32{} + s.width;
            const i8x32 others = fill32(s.others);
            right_x = i8x32(u8x32(load32(codes)) - low <= width) ^ others;
            right_y = i8x32(u8x32(load32(codes + 32)) - low <= width) ^ others;
          };
          find_set_leaves(strikes.data(), plane_begin.data(), n_planes, ask, leaf);
          const int64_t count = std::min<int64_t>(kSetRows, n - row);
          for (int64_t i = 0; i < count; ++i) out[row + i] = number[leaf[i] & (kSetLeaves - 1)];
        }
      }
    });
  }
  return true;
}

// Sends the rows that were not sampled down the tree.
void Workspace::find_leaves(const std::vector<int>& leaves, void* leaf_of_row, int leaf_size) const {
  constexpr int64_t kRows = 4096;
  std::vector<int> leaf_of_node(nodes_.size(), 0);
  std::vector<Sides> sides(nodes_.size());
  for (size_t i = 0; i < leaves.size(); ++i) leaf_of_node[leaves[i]] = int(i);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].left >= 0) sides[i] = sides_of(nodes_[i].split);
  }
  for (size_t p = 0; p < pages_.size(); ++p) {
    const Page& page = pages_[p];
    parallel(page.n_rows < 20000 ? 1 : n_threads_, (page.n_rows + kRows - 1) / kRows, [&](int, Tasks& tasks) {
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        const int64_t end = std::min(page.n_rows, (task + 1) * kRows);
        auto sampled = std::lower_bound(sample_[p].begin(), sample_[p].end(), uint32_t(task * kRows));
        for (int64_t row = task * kRows; row < end; ++row) {
          if (sampled != sample_[p].end() && *sampled == uint32_t(row)) {
            ++sampled;
            continue;
          }
          int node = 0;
          while (nodes_[node].left >= 0) {
            const Place& place = layout_.places.of[nodes_[node].split.feature];
            node = side_of(page, place, sides[node], uint32_t(row)) ? nodes_[node].left : nodes_[node].right;
          }
          const int64_t at = page.start + row;
          if (leaf_size == 1) static_cast<uint8_t*>(leaf_of_row)[at] = uint8_t(leaf_of_node[node]);
          if (leaf_size == 2) static_cast<uint16_t*>(leaf_of_row)[at] = uint16_t(leaf_of_node[node]);
          if (leaf_size == 4) static_cast<uint32_t*>(leaf_of_row)[at] = uint32_t(leaf_of_node[node]);
        }
      }
    });
  }
}

bool Workspace::histogram(int node, int64_t* out) const {
  const int slot = nodes_[node].histogram;
  if (slot < 0) return false;
  const int64_t* c = cells(slot);
  for (int64_t i = 0; i < layout_.n_cells; ++i, out += 3) {
    const int64_t word = format_.words() == 1 ? c[i] : c[2 * i + 1];
    out[0] = format_.words() == 1 ? word >> format_.count_bits : c[2 * i];
    out[1] = format_.words() == 1 ? word & format_.count_mask() : word >> format_.count_bits;
    out[2] = word & format_.count_mask();
  }
  return true;
}

}  // namespace sapwood
