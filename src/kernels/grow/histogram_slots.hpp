// The histograms of a growing tree's nodes, in memory that is used again.
#pragma once
#include <cstdint>
#include <vector>

#include "core/buffer.hpp"
#include "grow/tree_nodes.hpp"

namespace sapwood {

class HistogramSlots {
 public:
  HistogramSlots(int64_t n_cells, int64_t max_bytes);
  HistogramSlots(const HistogramSlots&) = delete;

  // Begins a tree: no node has a histogram.
  void reset();
  // Memory for the histogram of a node, not initialised. At the bound of memory, the histogram whose node has the lowest gain is dropped:
  // its children will be counted from their rows, with the same result.
  int64_t* take(int node, const TreeNodes& nodes);
  void release(int node);
  // Gives the histogram of a node to another one that has none.
  void move(int from, int to);

  bool has(int node) const { return size_t(node) < slot_of_.size() && slot_of_[node] >= 0; }
  // The histogram of a node that has one.
  int64_t* cells(int node) const { return slots_[slot_of_[node]].cells.as<int64_t>(); }

 private:
  struct Slot {
    Buffer cells;
    int node = -1;
  };
  int& slot_of(int node) {
    if (size_t(node) >= slot_of_.size()) slot_of_.resize(size_t(node) + 1, -1);
    return slot_of_[node];
  }
  void drop_coldest(const TreeNodes& nodes);

  int64_t n_cells_;
  size_t max_slots_;
  std::vector<Slot> slots_;
  std::vector<int> free_;
  std::vector<int> slot_of_;  // of each node: its slot, or -1
};

}  // namespace sapwood
