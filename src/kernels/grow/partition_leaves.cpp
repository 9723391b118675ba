// The leaves that the rows of a RowPartition are in.
#include <algorithm>
#include <type_traits>

#include "core/pool.hpp"
#include "grow/row_partition.hpp"
#include "grow/scatter.hpp"
#include "predict/leafsets.hpp"

namespace sapwood {

void RowPartition::leaf_sums(const std::vector<int>& leaves, Sums* sums, void* leaf_of_row, int leaf_size) {
  struct Part {
    int64_t first_task;
    int leaf;
    size_t page;
  };
  constexpr int64_t kRows = 8192;
  std::vector<Part> parts;
  std::vector<std::atomic<int64_t>> g(leaves.size()), h(leaves.size());
  int64_t n_tasks = 0;
  std::fill_n(sums, leaves.size(), Sums{});
  for (size_t p = 0; p < pages_.size(); ++p) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      const Range r = range(leaves[i], p);
      sums[i].count += r.end - r.begin;
      if (r.begin == r.end) continue;
      list_rows(leaves[i], p);
      parts.push_back({n_tasks, int(i), p});
      n_tasks += (r.end - r.begin + kRows - 1) / kRows;
    }
  }
  const bool found = sampled_ && assign_leaves_bitset(leaves, leaf_of_row, leaf_size);
  const int n_threads = n_rows_ < 20000 ? 1 : n_threads_;
  parallel(n_threads, n_tasks, [&](int, Tasks& tasks) {
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const Part& part =
          *(std::upper_bound(parts.begin(), parts.end(), task, [](int64_t t, const Part& q) { return t < q.first_task; }) - 1);
      const int node = leaves[part.leaf], buffer = nodes_[node].buffer;
      const Range r = range(node, part.page);
      const int64_t first = r.begin + (task - part.first_task) * kRows, n = std::min(kRows, r.end - first);
      const Sums chunk = sum_gradients(gradients(buffer, part.page) + first * gradient_size_, n, format_.gradients);
      g[part.leaf].fetch_add(chunk.g, std::memory_order_relaxed);
      h[part.leaf].fetch_add(chunk.h, std::memory_order_relaxed);
      if (found) continue;
      const uint32_t* from = implicit(node) ? nullptr : rows(buffer, part.page) + first;
      auto scatter = [&](auto* out) {
        using Leaf = std::remove_pointer_t<decltype(out)>;
        out += pages_[part.page].offset;
        for (int64_t i = 0; i < n; ++i) out[from ? int64_t(from[i]) : first + i] = Leaf(part.leaf);
      };
      if (leaf_size == 1) scatter(static_cast<uint8_t*>(leaf_of_row));
      if (leaf_size == 2) scatter(static_cast<uint16_t*>(leaf_of_row));
      if (leaf_size == 4) scatter(static_cast<uint32_t*>(leaf_of_row));
    }
  });
  for (size_t i = 0; i < leaves.size(); ++i) sums[i].g = g[i], sums[i].h = h[i];
  if (sampled_ && !found) find_leaves(leaves, leaf_of_row, leaf_size);
}

// Finds the leaves of all rows by bitsets of leaves (see leafsets.hpp). False if the tree is too large, or a page has no copy by columns.
bool RowPartition::assign_leaves_bitset(const std::vector<int>& leaves, void* leaf_of_row, int leaf_size) const {
  struct NodeTest {
    int column;
    uint8_t low, width;  // codes low, ..., low + width are on one side: the right one, unless the others are
    int8_t others;
    uint8_t leaves;
  };
  if (leaves.size() > kSetLeaves || leaves.size() != (nodes_.size() + 1) / 2 || leaf_size != 1) return false;
  for (const Buffer& columns : columns_) {
    if (!columns.as<char>()) return false;
  }
  const LeafNumbers numbers(int(nodes_.size()), [&](int i) { return std::pair(nodes_[i].left, nodes_[i].right); });
  std::vector<NodeTest> planes[kSetLeaves / kPlaneLeaves];
  for (const LocalNode& node : nodes_) {
    if (node.left < 0) continue;
    const FeatureStorage& storage = layout_->columns.features[node.split.feature];
    if (storage.column == kRowList) return false;
    const Sides sides = sides_of(*layout_, node.split);
    const uint8_t *begin = sides.left, *end = begin + layout_->columns.n_codes[storage.column];
    NodeTest test{storage.column, 0, 0, 0, 0};
    bool one = false;
    for (uint8_t side : {0, 1}) {  // are the codes of one side consecutive?
      const uint8_t* low = std::find(begin, end, side);
      const uint8_t* high = std::find(low, end, uint8_t(1 - side));
      one = low < end && std::find(high, end, side) == end;
      if (!one) continue;
      test.low = uint8_t(low - begin), test.width = uint8_t(high - low - 1), test.others = side ? -1 : 0;
      break;
    }
    if (!one) return false;
    numbers.visit_planes(node.left, [&](int plane, uint8_t left_leaves) {
      test.leaves = left_leaves;
      planes[plane].push_back(test);
    });
  }
  std::vector<NodeTest> tests;
  std::vector<int64_t> plane_begin(1, 0);
  const int n_planes = (int(leaves.size()) + kPlaneLeaves - 1) / kPlaneLeaves;
  for (int p = 0; p < n_planes; ++p) {
    tests.insert(tests.end(), planes[p].begin(), planes[p].end());
    plane_begin.push_back(int64_t(tests.size()));
  }
  uint8_t number[kSetLeaves] = {};  // of a leaf counted from the left
  for (size_t i = 0; i < leaves.size(); ++i) number[numbers.first[leaves[i]]] = uint8_t(i);
  constexpr int64_t kRows = 64 * kSetRows;
  for (size_t p = 0; p < pages_.size(); ++p) {
    const int64_t n = pages_[p].n_rows;
    const uint8_t* columns = columns_[p].as<uint8_t>();
    uint8_t* out = static_cast<uint8_t*>(leaf_of_row) + pages_[p].offset;
    parallel(n_threads_, (n + kRows - 1) / kRows, [&](int, Tasks& tasks) {
      for (int64_t task; (task = tasks.claim()) >= 0;) {
        for (int64_t row = task * kRows; row < std::min(n, (task + 1) * kRows); row += kSetRows) {
          alignas(32) uint8_t leaf[kSetRows];
          auto evaluate = [&](const NodeTest& s, i8x32& right_x, i8x32& right_y) {
            const uint8_t* codes = columns + size_t(s.column) * n + row;
            const u8x32 low = u8x32{} + s.low, width = u8x32{} + s.width;
            const i8x32 others = fill32(s.others);
            right_x = i8x32(u8x32(load32(codes)) - low <= width) ^ others;
            right_y = i8x32(u8x32(load32(codes + 32)) - low <= width) ^ others;
          };
          find_set_leaves(tests.data(), plane_begin.data(), n_planes, evaluate, leaf);
          const int64_t count = std::min<int64_t>(kSetRows, n - row);
          for (int64_t i = 0; i < count; ++i) out[row + i] = number[leaf[i] & (kSetLeaves - 1)];
        }
      }
    });
  }
  return true;
}

// Sends the rows that were not sampled down the tree.
void RowPartition::find_leaves(const std::vector<int>& leaves, void* leaf_of_row, int leaf_size) const {
  constexpr int64_t kRows = 4096;
  std::vector<int> leaf_of_node(nodes_.size(), 0);
  std::vector<Sides> sides(nodes_.size());
  for (size_t i = 0; i < leaves.size(); ++i) leaf_of_node[leaves[i]] = int(i);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].left >= 0) sides[i] = sides_of(*layout_, nodes_[i].split);
  }
  for (size_t p = 0; p < pages_.size(); ++p) {
    const LocalPage& page = pages_[p];
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
            const FeatureStorage& storage = layout_->columns.features[nodes_[node].split.feature];
            node = side_of(page, storage, sides[node], uint32_t(row)) ? nodes_[node].left : nodes_[node].right;
          }
          const int64_t at = page.offset + row;
          if (leaf_size == 1) static_cast<uint8_t*>(leaf_of_row)[at] = uint8_t(leaf_of_node[node]);
          if (leaf_size == 2) static_cast<uint16_t*>(leaf_of_row)[at] = uint16_t(leaf_of_node[node]);
          if (leaf_size == 4) static_cast<uint32_t*>(leaf_of_row)[at] = uint32_t(leaf_of_node[node]);
        }
      }
    });
  }
}

}  // namespace sapwood
