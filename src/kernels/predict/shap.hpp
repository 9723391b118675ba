// Shapley values of trees: what each feature adds to a row's raw prediction.
//
// The game of one leaf: with the features of a set known, a row reaches the leaf with probability (a product over its path's features) one
// or zero where the feature is known; where it is not, with the fraction of training rows that go the path's way (path-dependent), or one
// or zero as a background row has it (interventional). A path has few features, and all that a row tells about a leaf is which of them let
// it pass. So the terms of a leaf are computed once for each such pattern that turns up, and looked up for all other rows (Yang, Fast
// TreeSHAP, 2021, tabulates likewise). For one pattern, with P(t) the product of (t + fraction) over the features that let pass, the sum
// over all sets of known features is a weighted sum of P's coefficients, and to leave a feature out is to divide P by its factor.
//
// A linear leaf adds a game for each player that it has slopes of: the probability to reach the leaf times the player's part, which is zero
// while the player is not known (the mean of the training rows), so that the player's fraction is zero. Against a background there is a
// second one: the background row's part, while the player is not known.
#pragma once
#include <cstdint>
#include <vector>

#include "predict/scoring.hpp"

namespace sapwood {

// The conditions on the path to a leaf, by player: a feature, or several that become known together.
struct LeafPath {
  struct Step {
    int32_t node;  // within its tree
    uint8_t left;  // the side that leads to the leaf
    int32_t slot;  // of its player
  };
  int32_t leaf = 0;  // its node within the tree
  std::vector<Step> steps;
  std::vector<int32_t> players;   // of each slot
  std::vector<double> fractions;  // of each slot: fraction of the training rows that go the leaf's way
};

// What explaining a row costs: sums over the leaves of all trees.
struct PathCost {
  int64_t steps = 0;   // nodes on the way to a leaf; all are held in memory
  double squares = 0;  // of the players on the way, at most: the work for values
  double cubes = 0;    // the work for interactions
};
PathCost path_cost(const Scorer& scorer, int n_players);

// The slopes of one player in a leaf.
struct SlopePath {
  LeafPath path;  // that of the leaf, with a slot for the player, whose share is zero
  size_t slot;    // of the player
  bool on_path;   // whether the leaf's own path asks for the player
  std::vector<Slope> slopes;
};

class Explainer {
 public:
  // weight  (n_nodes,) of the training rows              IN
  // player  (n_features,) below n_players: of each feature   IN
  Explainer(const Scorer& scorer, const double* weight, const int32_t* player, int n_players);

  // Adds the trees [first, last) to out, (n_rows, n_outputs, n_players + 1); the last column is the value expected of a training row.
  void add(const Table& table, int64_t first, int64_t last, int n_threads, double* out) const;

  // The same with unknown features taken from a row of the background.
  void add_interventional(const Table& table, const Table& background, int64_t first, int64_t last, int n_threads, double* out) const;

  // Adds the interactions of each two players, half to either, to out, (n_rows, n_outputs, n_players, n_players). Nothing is added to the
  // diagonal.
  void add_interactions(const Table& table, int64_t first, int64_t last, int n_threads, double* out) const;

  const Scorer& scorer() const { return scorer_; }
  int n_players() const { return n_players_; }

 private:
  template <class Terms>
  void add_terms(const Table& table, int64_t first, int64_t last, int n_threads, const Terms& terms, double* out) const;

  const Scorer& scorer_;
  int n_players_;
  std::vector<std::vector<LeafPath>> paths_;                      // of each tree
  std::vector<std::vector<std::vector<SlopePath>>> slope_paths_;  // of each leaf of each tree, if leaves are linear
};

}  // namespace sapwood
