// Trained trees as arrays: the structure of the trees, and the parameters of their leaves.
#pragma once
#include <cstdint>

#include "grow/levels.hpp"
#include "predict/linear_leaves.hpp"

namespace sapwood {

// The nodes of all trees, end to end. Children are numbered within their tree, and larger than their parent.
struct TreeArrays {
  const int64_t* begin;     // (n_trees + 1,)
  const int32_t* feature;   // -1 in a leaf
  const double* threshold;  // x <= threshold goes left
  const int32_t* left;
  const int32_t* right;
  const uint8_t* missing_left;
  const int32_t* bin;    // the bin that ends at the threshold; of a node on a category: the number of the set of levels that goes left
  const LevelSet* sets;  // (n_sets,)
  int64_t n_trees, n_nodes, n_sets;
};

// The leaves of all trees. A leaf adds its values to the raw predictions of its rows; where it has slopes, these as well.
struct LeafArrays {
  const double* value;  // (n_nodes, n_values)
  int n_values;         // 1: tree t counts for output t % n_outputs; n_outputs: every tree counts for all of them
  LinearArrays linear{};
};

}  // namespace sapwood
