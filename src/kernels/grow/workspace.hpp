// The rows of a growing tree, node by node, on a list of pages; and the histograms of the nodes that may still be split.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "bins/inverted.hpp"
#include "bins/layout.hpp"
#include "core/fixed.hpp"
#include "grow/growing.hpp"
#include "grow/histogram.hpp"
#include "grow/lone.hpp"
#include "grow/splits.hpp"

namespace sapwood {

inline constexpr size_t kLine = 64;  // of the cache

// Memory on a cache line's boundary, not initialised.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t size);
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  std::unique_ptr<void, Free> memory_;
};

class Workspace : public GrowingTree {
 public:
  Workspace(Layout layout, std::vector<Page> pages, int n_threads, int64_t max_histogram_bytes);

  void constrain(Extras extras);

  // Takes the records of a new tree, (n_rows,) of 4 or 8 bytes, which it may change; finds the root's best split.
  //   sample  global ids of the rows to grow on, ascending; null for all
  void start(void* records, const Format& format, const Rules& rules, int max_depth, uint64_t key, const uint8_t* allowed,
             const int64_t* sample = nullptr, int64_t n_sample = 0);

  // Finds the best split of a leaf anew: its limits have changed.
  void search_again(int node, const uint8_t* allowed);

  // Makes this the split of a node, whatever it gains; false if a child would be empty.
  bool force(int node, int feature, int bin, bool missing_left);

  // Splits nodes; with `search`, finds the children's best splits, among the `allowed` features of each child (or null).
  // The children of nodes[i] are the nodes first + 2 i (left) and first + 2 i + 1; returns first.
  int advance(const std::vector<int>& nodes, bool search, const uint8_t* allowed);

  // For each leaf: exact sums of its rows' wide records; and the leaf's number for each row, sampled or not.
  void finish(const std::vector<int>& leaves, Sums* sums, void* leaf_of_row, int leaf_size);

  // The histogram of a node, as (n_cells, 3) gradient, hessian, count; false if it is not kept.
  bool histogram(int node, int64_t* out) const;

  int n_features() const { return layout_.n_features; }
  const Layout& layout() const { return layout_; }
  int64_t n_rows() const { return n_rows_; }

 private:
  static constexpr int64_t kSerialWork = 40000;  // (row, feature) pairs below which threads cost more than they bring
  static constexpr int64_t kFewCells = 2048;     // of features of two bins, that are searched sooner than a few rows are read
  static constexpr int kAllRecords = 2;          // the buffer that has the records of all rows in their order
  using Marks = std::vector<uint64_t>;           // a bit for each row of a page
  struct Range {
    int64_t begin = 0, end = 0;
  };
  struct Slot {
    Buffer cells;
    int node = -1;
    std::atomic_flag locks[8];
  };
  struct Scratch {  // of one thread
    Buffer table;   // sums of rows not yet in their histogram
    int slot = -1;
    int64_t n_pending = 0;
  };
  // How many rows of the children were written from one end of their ranges.
  struct alignas(kLine) Filled {
    std::atomic<int64_t> left{0}, right{0};
  };
  struct Job {  // a node being split
    int node, left = -1, right = -1;
    bool implicit = false;                // the root: its rows are 0, 1, 2, ...
    int left_slot = -1, right_slot = -1;  // histograms to build, or -1
    Sides sides;
    std::unique_ptr<Filled[]> filled;  // (n_pages, 2)
    std::vector<Marks> marks;          // of each page, if it has any: the rows that do not go the way of the feature's common bin
  };
  class Search;

  Range& range(int node, size_t page) { return ranges_[size_t(node) * pages_.size() + page]; }
  const Range& range(int node, size_t page) const { return ranges_[size_t(node) * pages_.size() + page]; }
  uint32_t* rows(int buffer, size_t page) const { return row_buffers_[buffer].as<uint32_t>() + pages_[page].start; }
  char* records(int buffer, size_t page) const { return record_buffers_[buffer] + pages_[page].start * record_size_; }
  int64_t* cells(int slot) const { return slots_[slot]->cells.as<int64_t>(); }
  void make_columns();
  void make_inverted();
  bool take_apart(Job& job);
  Marks mark_members(int node, size_t page) const;
  void list_rows(int node);
  Marks mark_rows(size_t page, const Place& place, const Sides& sides, int64_t n_node) const;
  // The codes of a column in a page: row r at pointer[r * step].
  const uint8_t* column(int column, size_t page, size_t& step) const;
  // Whether the sums of a part, a group of columns or what lies beside the rows, are packed until they are moved to a histogram.
  bool packs(int part) const {
    return format_.mode == Mode::kNarrow && (part < layout_.n_groups || layout_.places.n_beside <= kPackedBeside);
  }
  // Whether rows are added to histograms while they are split.
  bool fused() const { return layout_.n_groups == 1 && !layout_.any_beside(); }

  // Whether the rows of a node are all there are, in order, and so not listed.
  bool implicit(int node) const { return node == 0 && sample_.empty(); }
  void take_sample(size_t page, int64_t first, int64_t n, const int64_t* sample);
  bool side_of(const Page& page, const Place& place, const Sides& sides, uint32_t row) const;
  Sides sides_of(const Split& split) const;
  bool strike_leaves(const std::vector<int>& leaves, void* leaf_of_row, int leaf_size) const;
  void find_leaves(const std::vector<int>& leaves, void* leaf_of_row, int leaf_size) const;

  Sums root_sums() const;
  Sums sum_rows() const;
  int take_slot(int node);
  void release_slot(int node);
  bool is_small(int node) const { return nodes_[node].sums.count <= few_rows_ && !extras_.joint; }
  // Whether features of two bins can be searched together.
  bool searches_lone(const uint8_t* allowed) const {
    return !allowed && !extras_.shape_values() && extras_.weights.empty() && extras_.score_noise == 0;
  }
  void find_lone(int node, int first_unit, int last_unit, Split& best) const;
  void read_rows(int node, int group, FewRows& out) const;
  void make_scratch(int n);
  void add_to_histogram(Scratch& scratch, int slot, bool alone, size_t page, int group, const uint32_t* rows, uint32_t first,
                        const char* records, int64_t n);
  void flush(Scratch& scratch, bool alone);
  void split_rows(std::vector<Job>& jobs);
  void build_histograms(std::vector<Job>& jobs);
  void find_splits(const std::vector<std::pair<int, int>>& work, const uint8_t* allowed, int first_child);
  void find_joint_split(const std::vector<std::pair<int, int>>& work, const uint8_t* allowed, int first_child);
  void find_joint(const std::vector<int>& nodes, uint32_t feature, int first_child, Split& split) const;
  Bins bins_of(uint32_t feature) const;
  // The cells of a feature in a node that has a histogram.
  const int64_t* cells_of(int node, uint32_t feature) const {
    return cells(nodes_[node].histogram) + int64_t(layout_.cell(int(feature))) * format_.words();
  }
  Sums sum_bins_of(int node, uint32_t feature, Candidates& c) const;
  void subtract_units(int first, int last, int parent, int child) const;

  Layout layout_;
  std::vector<Page> pages_;
  int n_threads_;
  int64_t n_rows_ = 0;
  int record_size_ = sizeof(Pair);
  Format format_;
  std::vector<std::vector<uint32_t>> sample_;  // of each page: the rows to grow on; empty if all
  std::vector<Range> ranges_;                  // (n_nodes, n_pages)
  Buffer row_buffers_[2];
  Buffer spare_records_[2];
  std::vector<Buffer> columns_;                // of each page: (n_columns, n_rows), for large pages; see column()
  std::vector<Inverted> inverted_;             // of each page, where some bins lie beside the rows
  std::vector<ShortLists> short_lists_;        // of each page, where these are few
  int64_t mean_list_ = 0;                      // bins beside a row, about
  char* record_buffers_[3] = {};               // the last: of all rows, in their order, where some bins lie beside the rows
  std::map<int, std::vector<Marks>> members_;  // of nodes that have no list of rows; see take_apart
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<int> free_slots_;
  int64_t max_slots_;
  std::vector<Scratch> scratch_;
  LoneCells lone_;
  int64_t few_rows_ = kFewRows;  // up to which a node is searched row by row
};

}  // namespace sapwood
