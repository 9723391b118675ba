// The histograms of its nodes.
#include <algorithm>
#include <cstring>
#include <thread>

#include "core/pool.hpp"
#include "grow/histogram.hpp"
#include "grow/workspace.hpp"

namespace sapwood {
namespace {

constexpr int64_t kClear = 1 << 17;  // bytes cleared at a time
constexpr int64_t kListedWork = 4;   // of adding to a bin beside the rows: so many times that of adding to a column

void lock(std::atomic_flag& flag) {
  for (int spin = 0; flag.test_and_set(std::memory_order_acquire); ++spin) {
    if (spin > 100) std::this_thread::yield();
  }
}

}  // namespace

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
    slots_.back()->cells = Buffer(size_t(layout_.n_cells + 4) * 16);  // LoneCells looks past the end
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
  if (packed && beside) {
    from[last - first] = 0;
  } else if (packed) {
    for (int c = std::min(layout_.width, layout_.n_columns() - group * layout_.width); c < layout_.padded_width(); ++c) {
      from[c * kColumnWords] = 0;
    }
  } else {
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
    const int64_t tile = rows ? -1 : inverted_[page].tile(first, n);
    return with_add(format_, packed, [&](auto add) {
      if (tile >= 0) return add_tile(add, inverted_[page], tile, first, records, n, cells);
      if (!short_lists_.empty()) return add_short(add, short_lists_[page], rows, first, records, n, cells);
      add_beside(add, p.begin, p.beside, rows, first, records, n, cells);
    });
  }
  const uint8_t* bins = p.bins + size_t(group) * p.n_rows * layout_.stride;
  const uint32_t* offsets = layout_.offsets.data() + group * layout_.padded_width();
  add_rows_any(bins, layout_.stride, rows, first, records, n, layout_.padded_width(), offsets, format_, table);
}

// Adds the rows of the jobs' children to their histograms, one group of columns after the other, then what lies beside the rows.
void Workspace::build_histograms(std::vector<Job>& jobs) {
  struct Part {
    int64_t first_task;
    int node, slot, group;
    size_t page;
    int64_t block;  // rows of a task
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
          const int64_t n = r.end - r.begin,
                        block = implicit(node) ? kTileRows : std::clamp<int64_t>(n / (2 * n_threads_), 256, kBlockRows);
          parts.push_back({n_tasks, node, slot, group, p, block});
          n_tasks += (n + block - 1) / block;
          work += n * (group < layout_.n_groups ? layout_.width : kListedWork * mean_list_);
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
      const int64_t first = r.begin + (task - part.first_task) * part.block, n = std::min(part.block, r.end - first);
      const int buffer = nodes_[part.node].buffer;
      add_to_histogram(scratch, part.slot, n_threads == 1, part.page, part.group,
                       implicit(part.node) ? nullptr : rows(buffer, part.page) + first, uint32_t(first),
                       records(buffer, part.page) + first * record_size_, n);
    }
    flush(scratch, n_threads == 1);
  });
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
