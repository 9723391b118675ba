// The best splits of its nodes.
#include <algorithm>
#include <optional>

#include "core/pool.hpp"
#include "grow/workspace.hpp"

namespace sapwood {
namespace {

constexpr int64_t kSerialScan = 6000;  // bins below which threads cost more than they bring

}  // namespace

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

// Searches one node after the other, unit by unit.
class Workspace::Search {
 public:
  // allowed: see advance
  Search(const Workspace& workspace, const uint8_t* allowed, int first_child)
      : w_(workspace), allowed_(allowed), first_child_(first_child) {}

  // Keeps the best split of a node on the features of a unit if it is better than `top`; `last` is the end of the units to be asked for
  // next.
  void unit(int node, int unit, int last, Split& top) {
    const Layout& layout = w_.layout_;
    const uint32_t *first = &layout.places.members[layout.member_begin[unit]], *end = &layout.places.members[layout.member_begin[unit + 1]];
    auto may = [&](uint32_t f) { return !allowed_ || allowed_[size_t(node - first_child_) * layout.n_features + f]; };
    if (std::none_of(first, end, may)) return;
    const bool small = w_.is_small(node);
    if (small) fill(node, unit, last);
    for (const uint32_t* f = first; f < end; ++f) {
      if (!may(*f)) continue;
      const Bins bins = w_.bins_of(*f);
      Split split;
      if (small) {
        scan_few(cells_, bins.place.column == kBeside ? 0 : bins.place.first, bins, w_.format_, w_.sought(node, *f), split);
      } else {
        scan_bins(w_.cells_of(node, *f), bins, w_.format_, w_.sought(node, *f), split);
      }
      split.feature = int(*f);
      w_.compare(split, node, top);
    }
    if (small) cells_.clear();
  }

 private:
  // Adds the rows of a small node to the cells of a unit.
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
  struct Found {
    uint8_t code, row;
  };
  void add(uint8_t code, int row) { cells_.add(code, rows_.g[row], rows_.word[row]); }

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
  const uint8_t* allowed_;
  int first_child_;
  FewCells cells_;
  FewRows rows_;
  int node_ = -1, group_ = -1;   // whose rows these are
  int first_ = 0, last_ = 0;     // units that were collected
  std::vector<uint32_t> begin_;  // of each unit's
  std::vector<Found> found_;
};

Bins Workspace::bins_of(uint32_t feature) const {
  return {layout_.places.of[feature], layout_.n_bins[feature] - layout_.missing[feature], bool(layout_.missing[feature])};
}

// Turns the parent's histogram of some units into the other child's.
void Workspace::subtract_units(int first, int last, int parent, int child) const {
  const int64_t from = int64_t(layout_.unit_begin[first]) * format_.words(), to = int64_t(layout_.unit_begin[last]) * format_.words();
  subtract_words(cells(nodes_[parent].histogram) + from, cells(nodes_[child].histogram) + from, to - from);
}

// Keeps the best split of a node on some units of features of two bins if it is better than `best`.
void Workspace::find_lone(int node, int first_unit, int last_unit, Split& best) const {
  const int64_t first = layout_.unit_begin[first_unit], last = layout_.unit_begin[last_unit];
  const int feature = lone_.best(cells(nodes_[node].histogram), first, last, format_, rules_, nodes_[node].sums);
  if (feature < 0) return;
  Split split;
  scan_bins(cells_of(node, uint32_t(feature)), bins_of(uint32_t(feature)), format_, sought(node, uint32_t(feature)), split);
  split.feature = feature;
  compare(split, node, best);
}

// Sums a feature's bins in a node that has a histogram; returns those of the missing one.
Sums Workspace::sum_bins_of(int node, uint32_t feature, Candidates& c) const {
  return sum_bins(cells_of(node, feature), bins_of(feature), format_, nodes_[node].sums, c);
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
        if (sibling >= 0) subtract_units(int(unit), int(unit) + 1, sibling, child);
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
  const int n_units = layout_.n_units();
  int64_t n_bins_all = 0;  // to look at, roughly
  for (auto [child, sibling] : work) {
    n_bins_all += is_small(child) ? nodes_[child].sums.count * (layout_.n_columns() + mean_list_) + n_units : layout_.n_cells;
    if (sibling >= 0) n_bins_all += layout_.n_cells;
  }
  const int n_threads = n_bins_all < kSerialScan ? 1 : n_threads_;
  const int per_task = n_threads == 1 ? n_units : std::max(1, std::min(n_units / (4 * n_threads), 16));
  const int64_t n_blocks = (n_units + per_task - 1) / per_task;
  std::vector<Split> best(2 * work.size() * n_threads);
  const bool together = searches_lone(allowed);
  parallel(n_threads, n_blocks * int64_t(work.size()), [&](int participant, Tasks& tasks) {
    Search search(*this, allowed, first_child);
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const size_t w = size_t(task / n_blocks);
      const auto [child, sibling] = work[w];
      const int begin = int(task % n_blocks) * per_task, end = std::min(n_units, begin + per_task);
      Split* top = &best[(w * n_threads + participant) * 2];
      for (int unit = begin, next; unit < end; unit = next) {
        const bool lone = together && lone_.run_end(unit) > unit;
        next = lone ? std::min(end, lone_.run_end(unit)) : unit + 1;
        if (sibling >= 0) subtract_units(unit, next, sibling, child);
        for (int which : {1, 0}) {
          const int node = which ? sibling : child;
          if (node < 0 || !can_split(nodes_[node])) continue;
          if (lone && nodes_[node].histogram >= 0) {
            find_lone(node, unit, next, top[which]);
          } else {
            for (int u = unit; u < next; ++u) search.unit(node, u, end, top[which]);
          }
        }
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

}  // namespace sapwood
