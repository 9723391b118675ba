// Some rows of a data set, by the node of a growing tree that each is in.
//
// A RowPartition knows its own rows only: it is told which nodes are split and how, sends its rows to the children, and adds them to
// histograms. The sums of several partitions of the same data set add up exactly; a SplitSearch decides by the totals.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "bins/inverted_lists.hpp"
#include "bins/layout.hpp"
#include "bins/short_lists.hpp"
#include "core/buffer.hpp"
#include "core/fixed.hpp"
#include "grow/split_batch.hpp"
#include "grow/splits.hpp"

namespace sapwood {

class RowPartition {
 public:
  // pages  of the layout, in ascending order of their rows; may be empty
  RowPartition(std::shared_ptr<const BinLayout> layout, std::vector<Page> pages, int n_threads);
  // One page whose codes are in memory only between load() and unload(). Its layout has no row lists. It shares the temporary memory of
  // another one, if given: both must not be used at the same time.
  RowPartition(std::shared_ptr<const BinLayout> layout, int64_t n_rows, int64_t first_row, int n_threads, const RowPartition* other);
  RowPartition(const RowPartition&) = delete;
  RowPartition(RowPartition&&) = default;

  // The codes of the only page. Between load() and unload() all methods may be called; otherwise start() without a root, node_sums(), and
  // leaf_sums() of a tree without a sample.
  bool is_loaded_later() const { return loaded_later_; }
  void load(const uint8_t* codes) { pages_[0].codes = codes; }
  void unload() { pages_[0].codes = nullptr; }
  bool is_loaded() const { return !loaded_later_ || pages_[0].codes; }
  bool is_sampled() const { return sampled_; }

  // Begins a tree: all rows, or the sampled ones, are in node 0.
  //   gradients  (n_rows,) of 4 or 8 bytes, kept and changed until the tree is done   IN/OUT
  //   sample     ids of the rows to grow on, ascending; null for all                  IN
  //   root       a zeroed histogram that the rows are added to, or null               IN/OUT
  void start(void* gradients, const HistogramFormat& format, uint64_t key, const int64_t* sample, int64_t n_sample, int64_t* root);

  // Splits nodes, then builds histograms.
  //   histograms  (n_histograms,) zeroed                                                          IN/OUT
  //   whole       whether this partition has all rows of the data set, so that batch counts are its own
  void apply(const SplitBatch& batch, int64_t* const* histograms, bool whole);

  // Sums of a node's rows, in histogram units.
  Sums node_sums(int node);
  // Sums of a node's rows that a split would send left, in histogram units.
  Sums left_sums(int node, const Split& split);

  // For each leaf: exact sums of its rows' wide gradients; and the leaf's number for each row, sampled or not.
  void leaf_sums(const std::vector<int>& leaves, Sums* sums, void* leaf_of_row, int leaf_size);

  // The rows of a small node, with their codes in one group of columns or their row lists.
  void read_rows(int node, int group, FewRows& out) const;

  // Number of a node's rows.
  int64_t count(int node) const;
  // Whether a node exists and is not split.
  bool is_leaf(int64_t node) const { return node >= 0 && node < n_nodes() && nodes_[node].left < 0; }
  int n_nodes() const { return int(nodes_.size()); }
  int64_t n_rows() const { return n_rows_; }
  int n_threads() const { return n_threads_; }
  int64_t first_row() const { return pages_.empty() ? 0 : pages_[0].first_row; }
  // Whether these are ids of rows here, ascending.
  bool has_rows(const int64_t* ids, int64_t n) const;
  const std::shared_ptr<const BinLayout>& layout() const { return layout_; }
  const HistogramFormat& format() const { return format_; }
  // A number that no other tree of any partition has; 0 before the first tree.
  uint64_t tree_id() const { return tree_id_; }
  // Mean length of row lists, and one.
  int64_t mean_list() const { return mean_list_; }

 private:
  static constexpr int64_t kSerialWork = 40000;  // (row, feature) pairs below which threads cost more than they save
  static constexpr int kAllGradients = 2;        // the buffer with the gradients of all rows in their order
  static constexpr int kLocks = 8;               // of a histogram that several threads add to
  using Marks = std::vector<uint64_t>;           // a bit for each row of a page
  struct Range {
    int64_t begin = 0, end = 0;
  };
  struct LocalPage : Page {
    int64_t offset;  // number of this partition's rows before it
  };
  struct LocalNode {
    int left = -1, right = -1;
    int buffer = 0;  // which of the row buffers holds its rows
    Split split;
  };
  struct Target {
    int64_t* cells = nullptr;
    int index = -1;  // among the histograms that are built at once
  };
  struct Scratch {  // of one thread
    Buffer table;   // sums of rows not yet in their histogram
    Target target;
    int group = -1;
    int64_t n_pending = 0;
  };
  // Number of rows of the children written from one end of their ranges.
  struct alignas(kCacheLine) Filled {
    std::atomic<int64_t> left{0}, right{0};
  };
  struct Job {  // a node being split
    int node = 0, left = -1, right = -1;
    bool implicit = false;  // the root without a sample: its rows are 0, 1, 2, ...
    Target left_target, right_target;
    Sides sides;
    std::unique_ptr<Filled[]> filled;  // (n_pages, 2)
    std::vector<Marks> marks;          // of each page, if any: the rows that are not on the side of the feature's default bin
  };

  Range& range(int node, size_t page) { return ranges_[size_t(node) * pages_.size() + page]; }
  const Range& range(int node, size_t page) const { return ranges_[size_t(node) * pages_.size() + page]; }
  uint32_t* rows(int buffer, size_t page) const { return row_buffers_[buffer].as<uint32_t>() + pages_[page].offset; }
  char* gradients(int buffer, size_t page) const { return gradient_buffers_[buffer] + pages_[page].offset * gradient_size_; }
  // Whether the rows of a node are all rows, in order, and so not listed.
  bool implicit(int node) const { return node == 0 && !sampled_; }
  // Whether rows are added to histograms while they are split.
  bool adds_while_splitting() const { return layout_->n_groups == 1 && !layout_->any_lists(); }
  // Whether the sums of a group of columns, or of row lists, are packed until they are moved to a histogram.
  bool packs(int group) const {
    return format_.gradients == GradientFormat::kNarrow && (group < layout_->n_groups || layout_->columns.n_list_bins <= kPackedListBins);
  }

  void copy_columns();
  void invert_lists();
  // The codes of a column in a page: row r at pointer[r * step].
  const uint8_t* column(int column, size_t page, size_t& step) const;

  void take_sample(size_t page, int64_t first, int64_t n, const int64_t* sample);
  void narrow(size_t page, const uint32_t* rows, int64_t first, int64_t n, uint64_t key, Pair* pairs) const;

  bool side_of(const Page& page, const FeatureStorage& storage, const Sides& sides, uint32_t row) const;
  bool move_minority(Job& job, size_t page);
  Marks mark_members(int node, size_t page) const;
  Marks mark_rows(size_t page, const FeatureStorage& storage, const Sides& sides, int64_t n_node) const;
  void list_rows(int node, size_t page);
  void split_rows(std::vector<Job>& jobs, bool whole);

  void make_scratch(int n);
  void make_locks(size_t n);
  void add_to_histogram(Scratch& scratch, const Target& target, bool alone, size_t page, int group, const uint32_t* rows, uint32_t first,
                        const char* gradients, int64_t n);
  void flush(Scratch& scratch, bool alone);
  void build_histograms(const std::vector<int>& nodes, int64_t* const* histograms);

  bool assign_leaves_bitset(const std::vector<int>& leaves, void* leaf_of_row, int leaf_size) const;
  void find_leaves(const std::vector<int>& leaves, void* leaf_of_row, int leaf_size) const;

  std::shared_ptr<const BinLayout> layout_;
  std::vector<LocalPage> pages_;
  int n_threads_;
  bool loaded_later_ = false;
  int64_t n_rows_ = 0;
  uint64_t tree_id_ = 0;
  int gradient_size_ = sizeof(Pair);
  HistogramFormat format_;
  std::vector<LocalNode> nodes_;
  bool sampled_ = false;
  std::vector<std::vector<uint32_t>> sample_;  // of each page: the rows to grow on; empty if all
  std::vector<Range> ranges_;                  // (n_nodes, n_pages)
  Buffer row_buffers_[2];
  Buffer spare_gradients_[2];
  char* gradient_buffers_[3] = {};                   // the last: of all rows, in their order, if there are row lists
  std::vector<Buffer> columns_;                      // of each page: (n_columns, n_rows), for large pages; see column()
  std::vector<InvertedLists> inverted_;              // of each page, if there are row lists
  std::vector<ShortLists> short_lists_;              // of each page, if row lists have few bins
  int64_t mean_list_ = 0;                            // see mean_list()
  std::map<std::pair<int, size_t>, Marks> members_;  // (node, page) without a list of its rows; see move_minority
  std::shared_ptr<std::vector<Scratch>> scratch_;    // (n_threads,)
  std::unique_ptr<std::atomic_flag[]> locks_;        // (n_lockable_, kLocks)
  size_t n_lockable_ = 0;
};

}  // namespace sapwood
