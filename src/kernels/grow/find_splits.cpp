// How a SplitSearch finds the best splits of nodes, each on its own.
#include <algorithm>
#include <vector>

#include "core/pool.hpp"
#include "grow/split_search.hpp"

namespace sapwood {

// Searches one node after the other, unit by unit.
class SplitSearch::UnitSearch {
 public:
  // allowed, first, local: see find_splits
  UnitSearch(const SplitSearch& search, const uint8_t* allowed, int first, const RowPartition* local)
      : search_(search),
        layout_(*search.layout_),
        allowed_(allowed),
        first_(first),
        local_(local),
        plain_(search.nodes_.compares_gains()) {}

  // Keeps the best split of a node on the features of a unit if it is better than `top`; `last` is the end of the units that follow.
  void unit(int node, int unit, int last, Split& top) {
    const uint32_t* members = layout_.columns.members.data();
    const uint32_t *first = members + layout_.member_begin[unit], *end = members + layout_.member_begin[unit + 1];
    auto may = [&](uint32_t f) { return !allowed_ || allowed_[size_t(node - first_) * layout_.n_features + f]; };
    if (std::none_of(first, end, may)) return;
    const bool small = search_.is_small(node), by_rows = small && local_;
    if (by_rows) fill(node, unit, last);
    for (const uint32_t* f = first; f < end; ++f) {
      if (!may(*f)) continue;
      const Bins bins = search_.bins_of(*f);
      SearchContext context = search_.nodes_.context(node, *f);
      if (plain_) context.to_beat = top.gain;
      Split split;
      if (by_rows) {
        scan_few(cells_, bins.storage.column == kRowList ? 0 : bins.storage.first, bins, search_.format_, context, split);
      } else if (small) {
        scan_present(search_.cells_of(node, *f), bins, search_.format_, context, split);
      } else {
        scan_bins(search_.cells_of(node, *f), bins, search_.format_, context, split);
      }
      split.feature = int(*f);
      search_.nodes_.compare(split, node, top);
    }
    if (by_rows) cells_.clear();
  }

 private:
  // Adds the rows of a small node to the cells of a unit.
  void fill(int node, int unit, int last) {
    const bool lists = unit >= layout_.n_columns();
    const int group = lists ? layout_.n_groups : unit / layout_.width;
    if (node_ != node || group_ != group) {
      local_->read_rows(node_ = node, group_ = group, rows_);
      first_unit_ = last_unit_ = 0;
    }
    if (lists) {
      if (unit < first_unit_ || unit >= last_unit_) collect(unit, last);
      for (uint32_t k = begin_[unit - first_unit_]; k < begin_[unit - first_unit_ + 1]; ++k) add(found_[k].code, found_[k].row);
    } else {
      const int column = unit % layout_.width;
      for (int i = 0; i < rows_.n; ++i) add(rows_.codes[i][column], i);
    }
  }
  struct Found {
    uint8_t code, row;
  };
  void add(uint8_t code, int row) { cells_.add(code, rows_.g[row], rows_.word[row]); }

  // Sorts the bins of row lists by unit, for the units [first, last).
  void collect(int first, int last) {
    first_unit_ = first, last_unit_ = last;
    auto bin_of = [&](int unit) { return unsigned(layout_.columns.features[layout_.columns.members[layout_.member_begin[unit]]].first); };
    const uint32_t low = bin_of(first), high = last < layout_.n_units() ? bin_of(last) : uint32_t(layout_.columns.n_list_bins);
    auto visit = [&](auto&& f) {
      for (int i = 0; i < rows_.n; ++i) {
        for (const uint32_t* p = std::lower_bound(rows_.list[i], rows_.list_end[i], low); p < rows_.list_end[i] && *p < high; ++p) {
          f(layout_.list_unit[*p], *p, i);
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

  const SplitSearch& search_;
  const BinLayout& layout_;
  const uint8_t* allowed_;
  int first_;
  const RowPartition* local_;
  bool plain_;  // features are compared by their gains
  FewCells cells_;
  FewRows rows_;
  int node_ = -1, group_ = -1;          // of the rows
  int first_unit_ = 0, last_unit_ = 0;  // units that were collected
  std::vector<uint32_t> begin_;         // where each unit's begin
  std::vector<Found> found_;
};

// Turns the parent's histogram of some units into the other child's.
void SplitSearch::subtract_units(int first, int last, int parent, int child) const {
  const int64_t from = int64_t(layout_->unit_begin[first]) * format_.words(), to = int64_t(layout_->unit_begin[last]) * format_.words();
  subtract_words(slots_.cells(parent) + from, slots_.cells(child) + from, to - from);
}

// Keeps the best split of a node on some units of binary features if it is better than `best`.
void SplitSearch::find_binary(int node, int first_unit, int last_unit, Split& best) const {
  const int64_t first = layout_->unit_begin[first_unit], last = layout_->unit_begin[last_unit];
  const int feature = binary_.best(slots_.cells(node), first, last, format_, nodes_.rules(), nodes_[node].sums);
  if (feature < 0) return;
  Split split;
  scan_bins(cells_of(node, uint32_t(feature)), bins_of(uint32_t(feature)), format_, nodes_.context(node, uint32_t(feature)), split);
  split.feature = feature;
  nodes_.compare(split, node, best);
}

void SplitSearch::find_splits(const Searches& searches, const uint8_t* allowed, int first, const RowPartition* local) {
  if (searches.empty()) return;
  if (nodes_.constraints().symmetric) return find_symmetric_split(searches, allowed, first);
  const int n_units = layout_->n_units();
  auto by_rows = [&](int node) { return local && is_small(node); };
  int64_t n_bins_all = 0;  // to look at, roughly
  for (auto [child, sibling] : searches) {
    n_bins_all += by_rows(child) ? nodes_[child].sums.count * (layout_->n_columns() + local->mean_list()) + n_units : layout_->n_cells;
    if (sibling >= 0) n_bins_all += layout_->n_cells;
  }
  const int n_threads = n_bins_all < kSerialScan ? 1 : n_threads_;
  const int per_task = n_threads == 1 ? n_units : std::max(1, std::min(n_units / (4 * n_threads), 16));
  const int64_t n_blocks = (n_units + per_task - 1) / per_task;
  std::vector<Split> best(2 * searches.size() * n_threads);
  const bool together = searches_binary(allowed);
  parallel(n_threads, n_blocks * int64_t(searches.size()), [&](int participant, Tasks& tasks) {
    UnitSearch search(*this, allowed, first, local);
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const size_t w = size_t(task / n_blocks);
      const auto [child, sibling] = searches[w];
      const int begin = int(task % n_blocks) * per_task, end = std::min(n_units, begin + per_task);
      Split* top = &best[(w * n_threads + participant) * 2];
      for (int unit = begin, next; unit < end; unit = next) {
        const bool binary = together && binary_.run_end(unit) > unit;
        next = binary ? std::min(end, binary_.run_end(unit)) : unit + 1;
        if (sibling >= 0) subtract_units(unit, next, sibling, child);
        for (int which : {1, 0}) {
          const int node = which ? sibling : child;
          if (node < 0 || !nodes_.can_split(nodes_[node])) continue;
          if (binary && slots_.has(node)) {
            find_binary(node, unit, next, top[which]);
          } else {
            for (int u = unit; u < next; ++u) search.unit(node, u, end, top[which]);
          }
        }
      }
    }
  });
  for (size_t w = 0; w < searches.size(); ++w) {
    for (int which = 0; which < 2; ++which) {
      const int node = which ? searches[w].second : searches[w].first;
      if (node < 0) continue;
      Split top;
      for (int t = 0; t < n_threads; ++t) {
        const Split& split = best[(w * n_threads + t) * 2 + which];
        if (split.gain > 0 && (top.gain <= 0 || better(split, top))) top = split;
      }
      nodes_.set_split(node, top);
      if (top.gain <= 0 || by_rows(node)) slots_.release(node);
    }
  }
}

}  // namespace sapwood
