// Sets of a category's levels, by which categories are split.
//
// A level is a bin. Which of the many ways to part a node's levels in two are tried: all, where it has few of them; each one against the
// others; or the cuts of their order by gradient / hessian. For one output and without regularisation the last loses nothing: a convex
// loss has its best partition among those cuts (Fisher, 1958).
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/fixed.hpp"

namespace sapwood {

// How a feature is split: at a threshold; by a set of levels; by one level against the others.
enum class Kind : uint8_t { kNumber = 0, kPartition = 1, kOneVsRest = 2 };

struct LevelSet {
  uint32_t bits[8] = {};

  bool has(int level) const { return bits[level >> 5] >> (level & 31) & 1; }
  void add(int level) { bits[level >> 5] |= uint32_t(1) << (level & 31); }
  bool operator==(const LevelSet& other) const { return std::memcmp(bits, other.bits, sizeof bits) == 0; }
};

// Rules of the splits of all categories. Real units.
struct CategoryRules {
  double smooth = 0;     // added to each level's hessian when levels are sorted by gradient / hessian
  double l2 = 0;         // more of it, for the children of a split found in that order
  int64_t min_rows = 1;  // levels with fewer rows in a node are put in order as one
};

inline constexpr int kFewLevels = 4;  // all partitions of so many are tried

// The partitions of a node's levels that are tried.
class LevelOrder {
 public:
  static constexpr uint16_t kAbsent = 0xffff;

  // sums   (n,) of the levels in ascending order   IN
  // codes  (n,) numbers of the levels                IN
  LevelOrder(const Sums* sums, const int32_t* codes, int n, Kind kind, const CategoryRules& rules, double hessian_unit, bool missing) {
    std::fill(std::begin(entry_), std::end(entry_), kAbsent);
    uint16_t present[256];
    int n_present = 0;
    for (int i = 0; i < n; ++i) {
      if (sums[i].count > 0) present[n_present++] = uint16_t(i);
    }
    n_entries_ = n_present;
    if (kind == Kind::kOneVsRest && n_present > 2) {
      how_ = How::kEach;
      n_candidates_ = n_present + missing;
    } else if (n_present <= kFewLevels) {
      how_ = How::kSubsets;
      n_candidates_ = n_present == 0 ? 0 : (1 << (n_present - 1)) - 1 + missing;
    } else {
      how_ = How::kSorted;
      sort(sums, codes, present, n_present, rules, hessian_unit);
      return;
    }
    for (int e = 0; e < n_present; ++e) entry_[codes[present[e]]] = uint16_t(e);
  }

  int n_candidates() const { return n_candidates_; }
  // Whether it puts levels in order, which finds more in noise than the other ways.
  bool sorted() const { return how_ == How::kSorted; }

  // The sums of what each candidate puts on the left.
  //   sums, codes  as above, of this or of another node             IN
  //   left         (n_candidates,)                                  OUT
  void sum_left(const Sums* sums, const int32_t* codes, int n, Sums* left) const {
    Sums of_entry[256] = {};
    for (int i = 0; i < n; ++i) {
      if (entry_[codes[i]] != kAbsent) of_entry[entry_[codes[i]]] += sums[i];
    }
    Sums before;
    for (int c = 0; c < n_candidates_; ++c) {
      left[c] = {};
      if (how_ == How::kSorted) {
        left[c] = before += of_entry[c];
      } else {
        for (int e = 0; e < n_entries_; ++e) {
          if (has(c, e)) left[c] += of_entry[e];
        }
      }
    }
  }

  // The levels that a candidate puts on the left. Those that the node does not have go where most of its rows go.
  LevelSet levels(int candidate, bool most_left) const {
    LevelSet set;
    for (int level = 0; level < 256; ++level) {
      if (entry_[level] == kAbsent ? most_left : has(candidate, entry_[level])) set.add(level);
    }
    return set;
  }

 private:
  enum class How { kSubsets, kEach, kSorted };

  bool has(int candidate, int entry) const {
    if (how_ == How::kSorted) return entry <= candidate;
    if (how_ == How::kEach) return candidate == n_entries_ || candidate == entry;  // past the last: all, but for missing values
    return candidate == (1 << (n_entries_ - 1)) - 1 || (candidate + 1) >> entry & 1;
  }

  void sort(const Sums* sums, const int32_t* codes, const uint16_t* present, int n_present, const CategoryRules& rules,
            double hessian_unit) {
    struct Entry {
      double rank;
      int level;  // -1: those of few rows
      Sums sums;
    };
    Entry entries[257];
    Entry rare{0, -1, {}};
    n_entries_ = 0;
    auto is_rare = [&](int i) { return sums[i].count < rules.min_rows; };
    for (int k = 0; k < n_present; ++k) {
      const int i = present[k];
      if (is_rare(i)) {
        rare.sums += sums[i];
      } else {
        entries[n_entries_++] = {0, codes[i], sums[i]};
      }
    }
    if (rare.sums.count > 0) entries[n_entries_++] = rare;
    for (int e = 0; e < n_entries_; ++e) {
      const double weight = std::max(double(entries[e].sums.h) * hessian_unit + rules.smooth, 1e-300);
      entries[e].rank = double(entries[e].sums.g) / weight;
    }
    std::sort(entries, entries + n_entries_,
              [](const Entry& a, const Entry& b) { return a.rank < b.rank || (a.rank == b.rank && a.level < b.level); });
    for (int e = 0; e < n_entries_; ++e) {
      if (entries[e].level >= 0) {
        entry_[entries[e].level] = uint16_t(e);
        continue;
      }
      for (int k = 0; k < n_present; ++k) {
        if (is_rare(present[k])) entry_[codes[present[k]]] = uint16_t(e);
      }
    }
    n_candidates_ = n_entries_;
  }

  How how_;
  int n_entries_ = 0, n_candidates_ = 0;
  uint16_t entry_[256];  // of each level
};

}  // namespace sapwood
