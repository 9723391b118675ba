// How a RowPartition adds its rows to histograms.
#include <algorithm>
#include <cstring>
#include <thread>

#include "core/pool.hpp"
#include "grow/histogram.hpp"
#include "grow/row_partition.hpp"

namespace sapwood {
namespace {

constexpr int64_t kListedWork = 4;  // work of adding a row to a bin of its list, in units of adding it to a column

void lock(std::atomic_flag& flag) {
  for (int spin = 0; flag.test_and_set(std::memory_order_acquire); ++spin) {
    if (spin > 100) std::this_thread::yield();
  }
}

}  // namespace

void RowPartition::make_scratch(int n) {
  const size_t table = std::max(size_t(layout_->n_cells + 1) * 16, size_t(layout_->padded_width()) * kColumnWords * sizeof(uint64_t));
  for (int i = 0; i < n; ++i) {
    Scratch& s = (*scratch_)[i];
    if (s.table.as<char>() && s.n_pending == 0) continue;
    if (!s.table.as<char>()) s.table = Buffer(table);
    std::memset(s.table.as<char>(), 0, table);
    s.n_pending = 0;  // an exception left sums behind
  }
}

void RowPartition::make_locks(size_t n) {
  if (n <= n_lockable_) return;
  locks_ = std::make_unique<std::atomic_flag[]>(n * kLocks);
  n_lockable_ = n;
}

// Moves a thread's pending sums into the histogram they belong to.
void RowPartition::flush(Scratch& scratch, bool alone) {
  if (scratch.n_pending == 0) return;
  const BinLayout& layout = *layout_;
  const int group = scratch.group;
  const bool lists = group == layout.n_groups;
  const int64_t first = lists ? layout.lists_begin() : layout.column_begin[group * layout.width];
  const int64_t last = lists ? layout.n_cells : layout.column_begin[std::min(layout.n_columns(), (group + 1) * layout.width)];
  const bool packed = packs(group);
  int64_t* to = scratch.target.cells;
  int64_t* from = scratch.table.as<int64_t>();
  std::atomic_flag* locks = locks_.get() + scratch.target.index * kLocks;
  const int n_segments = alone ? 1 : kLocks;
  const int turn = int(&scratch - scratch_->data());
  for (int s = 0; s < n_segments; ++s) {
    const int segment = (s + turn) % n_segments;  // threads start at different places
    auto cut = [&](int64_t begin, int64_t end, int k) { return begin + (end - begin) * k / n_segments; };
    if (!alone) lock(locks[segment]);
    if (packed && lists) {
      const int64_t a = cut(0, last - first, segment), b = cut(0, last - first, segment + 1);
      unpack_block(from + a, b - a, format_.count_bits, to + 2 * (first + a));
    } else if (packed) {
      const int first_column = group * layout.width, last_column = std::min(layout.n_columns(), first_column + layout.width);
      for (int64_t c = cut(first_column, last_column, segment); c < cut(first_column, last_column, segment + 1); ++c) {
        unpack_block(from + (c - first_column) * kColumnWords, layout.columns.n_codes[c], format_.count_bits,
                     to + 2 * int64_t(layout.column_begin[c]));
      }
    } else {
      const int64_t a = cut(first, last, segment), b = cut(first, last, segment + 1);
      move_words(from + a * format_.words(), (b - a) * format_.words(), to + a * format_.words());
    }
    if (!alone) locks[segment].clear(std::memory_order_release);
  }
  // Clear the sums of the padding: cells of another tree may have another size, and overlap them.
  if (packed && lists) {
    from[last - first] = 0;
  } else if (packed) {
    for (int c = std::min(layout.width, layout.n_columns() - group * layout.width); c < layout.padded_width(); ++c) {
      from[c * kColumnWords] = 0;
    }
  } else {
    std::fill_n(from + layout.n_cells * format_.words(), format_.words(), 0);
  }
  scratch.n_pending = 0;
}

// Adds up to kBlockRows rows of a group of columns, or of row lists.
void RowPartition::add_to_histogram(Scratch& scratch, const Target& target, bool alone, size_t page, int group, const uint32_t* rows,
                                    uint32_t first, const char* gradients, int64_t n) {
  const BinLayout& layout = *layout_;
  const Page& p = pages_[page];
  const bool lists = group == layout.n_groups;
  const bool packed = packs(group);
  void* table = target.cells;
  if (!alone || packed) {
    const bool same = scratch.target.index == target.index && scratch.group == group;
    if (!same || (packed && scratch.n_pending + n > kBlockRows)) flush(scratch, alone);
    scratch.target = target;
    scratch.group = group;
    scratch.n_pending += n;
    table = scratch.table.as<void>();
  }
  if (lists) {
    int64_t* cells = static_cast<int64_t*>(table) + (packed ? 0 : int64_t(layout.lists_begin()) * format_.words());
    const int64_t tile = rows ? -1 : inverted_[page].tile(first, n);
    return with_add(format_, packed, [&](auto add) {
      if (tile >= 0) return add_tile(add, inverted_[page], tile, first, gradients, n, cells);
      if (!short_lists_.empty()) return add_short(add, short_lists_[page], rows, first, gradients, n, cells);
      add_lists(add, p.list_begin, p.list_bins, rows, first, gradients, n, cells);
    });
  }
  const uint8_t* codes = p.codes + size_t(group) * p.n_rows * layout.stride;
  const uint32_t* offsets = layout.offsets.data() + group * layout.padded_width();
  add_rows_any(codes, layout.stride, rows, first, gradients, n, layout.padded_width(), offsets, format_, table);
}

// Adds the rows of nodes to their histograms: page by page, node by node, one group of columns after the other, then the row lists.
void RowPartition::build_histograms(const std::vector<int>& nodes, int64_t* const* histograms) {
  struct Part {
    int64_t first_task;
    int node, group;
    Target target;
    size_t page;
    int64_t block;  // rows of a task
  };
  const BinLayout& layout = *layout_;
  std::vector<Part> parts;
  int64_t n_tasks = 0, work = 0;
  for (size_t p = 0; p < pages_.size(); ++p) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Range r = range(nodes[i], p);
      const int64_t n = r.end - r.begin;
      if (n == 0) continue;
      list_rows(nodes[i], p);
      const int64_t block = implicit(nodes[i]) ? kTileRows : std::clamp<int64_t>(n / (2 * n_threads_), 256, kBlockRows);
      for (int group = 0; group < layout.n_groups + layout.any_lists(); ++group) {
        parts.push_back({n_tasks, nodes[i], group, {histograms[i], int(i)}, p, block});
        n_tasks += (n + block - 1) / block;
        work += n * (group < layout.n_groups ? layout.width : kListedWork * mean_list_);
      }
    }
  }
  if (!n_tasks) return;
  const int n_threads = n_tasks > 1 && work >= kSerialWork ? n_threads_ : 1;
  make_scratch(n_threads);
  make_locks(nodes.size());
  parallel(n_threads, n_tasks, [&](int participant, Tasks& tasks) {
    Scratch& scratch = (*scratch_)[participant];
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const Part& part =
          *(std::upper_bound(parts.begin(), parts.end(), task, [](int64_t t, const Part& q) { return t < q.first_task; }) - 1);
      const Range r = range(part.node, part.page);
      const int64_t first = r.begin + (task - part.first_task) * part.block, n = std::min(part.block, r.end - first);
      const int buffer = nodes_[part.node].buffer;
      add_to_histogram(scratch, part.target, n_threads == 1, part.page, part.group,
                       implicit(part.node) ? nullptr : rows(buffer, part.page) + first, uint32_t(first),
                       gradients(buffer, part.page) + first * gradient_size_, n);
    }
    flush(scratch, n_threads == 1);
  });
}

}  // namespace sapwood
