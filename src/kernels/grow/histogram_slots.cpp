#include "grow/histogram_slots.hpp"

#include <algorithm>
#include <utility>

namespace sapwood {

HistogramSlots::HistogramSlots(int64_t n_cells, int64_t max_bytes)
    : n_cells_(n_cells), max_slots_(size_t(std::max<int64_t>(4, max_bytes / ((n_cells + 1) * 16)))) {}

void HistogramSlots::reset() {
  slot_of_.clear();
  free_.clear();
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].node = -1;
    free_.push_back(int(i));
  }
}

int64_t* HistogramSlots::take(int node, const TreeNodes& nodes) {
  if (free_.empty() && slots_.size() >= max_slots_ && !nodes.constraints().symmetric) drop_coldest(nodes);
  if (free_.empty()) {
    slots_.push_back({Buffer(size_t(n_cells_ + 4) * 16), -1});  // BinaryFeatureScan reads past the end
    free_.push_back(int(slots_.size()) - 1);
  }
  const int slot = free_.back();
  free_.pop_back();
  slots_[slot].node = node;
  slot_of(node) = slot;
  return cells(node);
}

void HistogramSlots::drop_coldest(const TreeNodes& nodes) {
  int coldest = -1;
  for (const Slot& slot : slots_) {
    if (slot.node < 0 || nodes[slot.node].left >= 0 || nodes[slot.node].split.feature < 0) continue;  // in use by the current step
    if (coldest < 0 || nodes[slot.node].split.gain < nodes[coldest].split.gain) coldest = slot.node;
  }
  if (coldest >= 0) release(coldest);
}

void HistogramSlots::release(int node) {
  if (!has(node)) return;
  const int slot = std::exchange(slot_of_[node], -1);
  slots_[slot].node = -1;
  free_.push_back(slot);
}

void HistogramSlots::move(int from, int to) {
  const int slot = std::exchange(slot_of_[from], -1);
  slots_[slot].node = to;
  slot_of(to) = slot;
}

}  // namespace sapwood
