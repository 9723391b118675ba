#include "predict/shap.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "core/pool.hpp"

namespace sapwood {
namespace {

constexpr int kTabulated = 12;            // features of a path whose patterns are looked up
constexpr int64_t kRows = 4096;           // of a task, at most
constexpr int64_t kBackgroundRows = 512;  // whose decisions are taken at once
constexpr int64_t kDecisions = 1 << 26;   // of a task, at most: one for each node of a tree and row

// The product of (t + fraction) over features, by powers of t.
class Product {
 public:
  Product() : c_(1, 1.0) {}
  void multiply(double fraction) {
    c_.push_back(c_.back());
    for (size_t k = c_.size() - 2; k > 0; --k) c_[k] = c_[k] * fraction + c_[k - 1];
    c_[0] *= fraction;
  }
  // Without one factor. The coefficients rise to a peak and then fall; from either end towards the peak, what is taken off is the smaller
  // part, and errors do not grow. A small fraction is the exception: dividing by it would let them.
  Product divided(double fraction) const {
    Product out;
    const size_t n = c_.size() - 1;
    out.c_.resize(n);
    const size_t peak = fraction < 0.5 ? 0 : size_t(std::max_element(c_.begin(), c_.end()) - c_.begin());
    double carry = 0;
    for (size_t k = 0; k < peak; ++k) out.c_[k] = carry = (c_[k] - carry) / fraction;
    carry = 0;
    for (size_t k = n; k > peak; --k) out.c_[k - 1] = carry = c_[k] - fraction * carry;
    return out;
  }
  // The sum over sets of known features, which all let pass: each set's weight times the fractions of those not in it.
  //   weights  by the number of features in a set   IN
  double weigh(const std::vector<double>& weights) const {
    double sum = 0;
    // Where all let pass there is one coefficient more than sets that leave somebody out.
    for (size_t k = 0; k < std::min(c_.size(), weights.size()); ++k) sum += c_[k] * weights[k];
    return sum;
  }

 private:
  std::vector<double> c_;
};

// k! (n - 1 - k)! / n! for k = 0, ..., n - 1: the chance that just k of the others come before a feature.
std::vector<double> order_weights(int n) {
  std::vector<double> out(size_t(std::max(n, 1)), 1.0 / std::max(n, 1));
  for (int k = 1; k < n; ++k) out[k] = out[k - 1] * k / (n - k);
  return out;
}

// The decisions of a tree's nodes for some rows.
struct Decisions {
  std::vector<uint8_t> left;  // (n_nodes, n_rows)
  int64_t n_rows = 0;

  void take(const Scorer& scorer, int64_t tree, const std::vector<double>& columns, int64_t n) {
    n_rows = n;
    left.resize(size_t(scorer.n_nodes(tree) * n));
    scorer.decide(tree, columns.data(), n, left.data());
  }
  bool passes(const LeafPath::Step& step, int64_t row) const { return left[step.node * n_rows + row] == step.left; }
};

// The sum of a player's slopes for a row of a block.
double slope_sum(const SlopePath& player, const LinearInputs& inputs, const std::vector<double>& columns, int64_t n, int64_t row) {
  double sum = 0;
  for (const Slope& slope : player.slopes) {
    sum += slope.part(inputs.value(slope.input, columns[size_t(inputs.feature[slope.input] * n + row)]));
  }
  return sum;
}

// The game of a leaf: that of its value, of the row's own slopes, or of the background's slopes.
enum class Game { kValue, kSlope, kBackgroundSlope };

// Path-dependent values: a term for each player of a path, and the expected value.
class PathDependentTerms {
 public:
  static constexpr bool kBackground = false;
  explicit PathDependentTerms(int n_players) : n_players_(n_players) {}
  int64_t width() const { return n_players_ + 1; }
  void begin_tree(const Scorer&, int64_t) {}

  void begin_leaf(const LeafPath& path, size_t, Game, size_t, std::vector<int64_t>& places) {
    places.assign(path.players.begin(), path.players.end());
    places.push_back(n_players_);
    weights_ = order_weights(int(path.players.size()));
  }

  void fill(const LeafPath& path, const uint8_t* pass, double* terms) const {
    const size_t n = path.players.size();
    Product known;
    double blocked = 1, expected = 1;
    for (size_t i = 0; i < n; ++i) {
      expected *= path.fractions[i];
      if (pass[i]) known.multiply(path.fractions[i]);
      if (!pass[i]) blocked *= path.fractions[i];
    }
    const double of_blocked = -blocked * known.weigh(weights_);
    for (size_t i = 0; i < n; ++i) {
      terms[i] = pass[i] ? (1 - path.fractions[i]) * blocked * known.divided(path.fractions[i]).weigh(weights_) : of_blocked;
    }
    terms[n] = expected;
  }

 private:
  int n_players_;
  std::vector<double> weights_;
};

// Interactions: a term for each two players of a path, in both orders.
class InteractionTerms {
 public:
  static constexpr bool kBackground = false;
  explicit InteractionTerms(int n_players) : n_players_(n_players) {}
  int64_t width() const { return int64_t(n_players_) * n_players_; }
  void begin_tree(const Scorer&, int64_t) {}

  void begin_leaf(const LeafPath& path, size_t, Game, size_t, std::vector<int64_t>& places) {
    places.clear();
    for (int32_t a : path.players) {
      for (int32_t b : path.players) {
        if (a != b) places.push_back(int64_t(a) * n_players_ + b);
      }
    }
    weights_ = order_weights(int(path.players.size()) - 1);
  }

  void fill(const LeafPath& path, const uint8_t* pass, double* terms) const {
    const size_t n = path.players.size();
    Product known;
    double blocked = 0.5;
    for (size_t i = 0; i < n; ++i) {
      if (pass[i]) known.multiply(path.fractions[i]);
      if (!pass[i]) blocked *= path.fractions[i];
    }
    for (size_t i = 0, at = 0; i < n; ++i) {
      const Product rest = pass[i] ? known.divided(path.fractions[i]) : known;
      const double factor = blocked * (pass[i] ? 1 - path.fractions[i] : -1);
      for (size_t j = 0; j < n; ++j) {
        if (i == j) continue;
        if (pass[j]) {
          terms[at++] = factor * (1 - path.fractions[j]) * rest.divided(path.fractions[j]).weigh(weights_);
        } else {
          terms[at++] = -factor * rest.weigh(weights_);
        }
      }
    }
  }

 private:
  int n_players_;
  std::vector<double> weights_;
};

// Interventional values: as PathDependentTerms, against the rows of a background.
class InterventionalTerms {
  using Pattern = std::string;  // of ones and zeros: which features let a row pass; short ones need no memory of their own
  struct Rows {
    int64_t count = 0;
    std::vector<double> slopes;  // of each player with slopes: their sum over the rows
  };

 public:
  static constexpr bool kBackground = true;
  InterventionalTerms(int n_players, const Table& background, const std::vector<std::vector<LeafPath>>& paths,
                      const std::vector<std::vector<std::vector<SlopePath>>>& slope_paths)
      : n_players_(n_players), background_(background), paths_(paths), slope_paths_(slope_paths) {}
  int64_t width() const { return n_players_ + 1; }

  // Counts the patterns of the background's rows at each leaf.
  void begin_tree(const Scorer& scorer, int64_t tree) {
    patterns_.assign(paths_[tree].size(), {});
    std::vector<double> columns;
    Decisions decisions;
    const int64_t most = std::clamp<int64_t>(kDecisions / std::max<int64_t>(1, scorer.n_nodes(tree)), 1, kBackgroundRows);
    for (int64_t at = 0; at < background_.n_rows; at += most) {
      const int64_t n = std::min(most, background_.n_rows - at);
      scorer.load(background_, at, n, columns);
      decisions.take(scorer, tree, columns, n);
      for (size_t k = 0; k < patterns_.size(); ++k) {
        const LeafPath& path = paths_[tree][k];
        for (int64_t row = 0; row < n; ++row) {
          Pattern pass(path.players.size(), 1);
          for (const auto& step : path.steps) pass[step.slot] &= decisions.passes(step, row);
          Rows& rows = patterns_[k][std::move(pass)];
          ++rows.count;
          if (slope_paths_.empty()) continue;
          const auto& players = slope_paths_[tree][k];
          rows.slopes.resize(players.size());
          for (size_t p = 0; p < players.size(); ++p) rows.slopes[p] += slope_sum(players[p], scorer.inputs(), columns, n, row);
        }
      }
    }
    tree_ = tree;
  }

  void begin_leaf(const LeafPath& path, size_t index, Game game, size_t part, std::vector<int64_t>& places) {
    places.assign(path.players.begin(), path.players.end());
    places.push_back(n_players_);
    leaf_ = index, game_ = game, part_ = part;
  }

  void fill(const LeafPath& path, const uint8_t* pass, double* terms) const {
    const size_t n = path.players.size();
    std::fill(terms, terms + n + 1, 0.0);
    // The player of slopes: the row's own count only while it is known, the background's only while it is not.
    const SlopePath* player = game_ == Game::kValue ? nullptr : &slope_paths_[tree_][leaf_][part_];
    auto passes = [&](size_t i) { return pass[i] && !(player && i == player->slot && game_ == Game::kBackgroundSlope); };
    for (const auto& [pattern, rows] : patterns_[leaf_]) {
      auto other_passes = [&, &other = pattern](size_t i) {
        if (!player || i != player->slot) return bool(other[i]);
        return game_ == Game::kBackgroundSlope && (!player->on_path || other[i]);
      };
      int n_own = 0, n_other = 0;  // features by which only the row passes, or only the background's
      bool reached = true, without = true;
      for (size_t i = 0; i < n; ++i) {
        const bool own = passes(i), others = other_passes(i);
        n_own += own && !others;
        n_other += !own && others;
        reached &= own || others;
        without &= others;
      }
      const double fraction = (game_ == Game::kBackgroundSlope ? rows.slopes[part_] : double(rows.count)) / double(background_.n_rows);
      if (without) terms[n] += fraction;
      if (!reached || n_own + n_other == 0) continue;
      const std::vector<double> weights = order_weights(n_own + n_other);
      for (size_t i = 0; i < n; ++i) {
        const bool own = passes(i), others = other_passes(i);
        if (own && !others) terms[i] += fraction * weights[n_own - 1];
        if (!own && others) terms[i] -= fraction * weights[n_own];
      }
    }
  }

 private:
  int n_players_;
  const Table& background_;
  const std::vector<std::vector<LeafPath>>& paths_;
  const std::vector<std::vector<std::vector<SlopePath>>>& slope_paths_;
  std::vector<std::map<Pattern, Rows>> patterns_;  // of each leaf: the rows that have it
  int64_t tree_ = 0;
  size_t leaf_ = 0, part_ = 0;
  Game game_ = Game::kValue;
};

// The slopes of a leaf by player.
std::vector<SlopePath> slopes_by_player(const Scorer& scorer, int64_t tree, const LeafPath& path, const int32_t* player) {
  std::vector<SlopePath> out;
  const auto [first, last] = scorer.slopes(tree, path.leaf);
  for (const Slope* slope = first; slope < last; ++slope) {
    const int32_t own = player[scorer.inputs().feature[slope->input]];
    auto known = std::find_if(out.begin(), out.end(), [&](const SlopePath& p) { return p.path.players[p.slot] == own; });
    if (known != out.end()) {
      known->slopes.push_back(*slope);
      continue;
    }
    SlopePath next{path, size_t(std::find(path.players.begin(), path.players.end(), own) - path.players.begin()), true, {*slope}};
    next.on_path = next.slot < path.players.size();
    if (!next.on_path) {
      next.path.players.push_back(own);
      next.path.fractions.push_back(0.0);
    }
    next.path.fractions[next.slot] = 0.0;
    out.push_back(std::move(next));
  }
  return out;
}

}  // namespace

PathCost path_cost(const Scorer& scorer, int n_players) {
  PathCost cost;
  std::vector<int32_t> depth;
  for (int64_t tree = 0; tree < scorer.n_trees(); ++tree) {
    depth.assign(size_t(scorer.n_nodes(tree)), 0);
    for (int32_t node = 0; node < int32_t(depth.size()); ++node) {
      if (scorer.feature(tree, node) >= 0) {
        const auto [left, right] = scorer.children(tree, node);
        depth[left] = depth[right] = depth[node] + 1;
        continue;
      }
      const double players = std::min(depth[node], n_players);
      cost.steps += depth[node];
      cost.squares += players * players;
      cost.cubes += players * players * players;
    }
  }
  return cost;
}

Explainer::Explainer(const Scorer& scorer, const double* weight, const int32_t* player, int n_players)
    : scorer_(scorer), n_players_(n_players), paths_(size_t(scorer.n_trees())) {
  int64_t begin = 0;
  for (int64_t tree = 0; tree < scorer.n_trees(); ++tree) {
    std::vector<LeafPath> paths(1);  // of nodes still to visit, the next one last
    while (!paths.empty()) {
      LeafPath path = std::move(paths.back());
      paths.pop_back();
      const int32_t node = path.leaf;
      if (scorer.feature(tree, node) < 0) {
        paths_[tree].push_back(std::move(path));
        continue;
      }
      const auto [left, right] = scorer.children(tree, node);
      const int32_t own = player[scorer.feature(tree, node)];
      for (int32_t child : {right, left}) {
        LeafPath next = path;
        auto found = std::find(next.players.begin(), next.players.end(), own);
        const size_t slot = size_t(found - next.players.begin());
        if (found == next.players.end()) {
          next.players.push_back(own);
          next.fractions.push_back(1.0);
        }
        const double all = weight[begin + left] + weight[begin + right];
        next.fractions[slot] *= all > 0 ? weight[begin + child] / all : 0.5;
        next.steps.push_back({node, uint8_t(child == left), int32_t(slot)});
        next.leaf = child;
        paths.push_back(std::move(next));
      }
    }
    begin += scorer.n_nodes(tree);
  }
  if (scorer.inputs().size() == 0) return;
  slope_paths_.resize(paths_.size());
  for (int64_t tree = 0; tree < scorer.n_trees(); ++tree) {
    for (const LeafPath& path : paths_[tree]) slope_paths_[tree].push_back(slopes_by_player(scorer, tree, path, player));
  }
}

template <class Terms>
void Explainer::add_terms(const Table& table, int64_t first, int64_t last, int n_threads, const Terms& prototype, double* out) const {
  int64_t most_nodes = 1;
  for (int64_t tree = first; tree < last; ++tree) most_nodes = std::max(most_nodes, scorer_.n_nodes(tree));
  const int64_t rows = std::clamp<int64_t>(table.n_rows / (2 * n_threads), 1, std::clamp<int64_t>(kDecisions / most_nodes, 1, kRows));
  const int64_t width = prototype.width(), row_size = width * scorer_.n_outputs();
  parallel(n_threads, (table.n_rows + rows - 1) / rows, [&](int, Tasks& tasks) {
    Terms terms = prototype;
    std::vector<double> columns, table_terms, own;
    std::vector<int64_t> places;
    std::vector<int32_t> where;
    std::vector<uint16_t> masks(static_cast<size_t>(rows));
    std::vector<uint8_t> pass;
    Decisions decisions;
    for (int64_t task; (task = tasks.claim()) >= 0;) {
      const int64_t begin = task * rows, n = std::min(rows, table.n_rows - begin);
      scorer_.load(table, begin, n, columns);
      for (int64_t tree = first; tree < last; ++tree) {
        tasks.poll();
        decisions.take(scorer_, tree, columns, n);
        terms.begin_tree(scorer_, tree);
        const Scorer::Values values = scorer_.values(tree);
        // Adds a game of leaf k: its terms times factor(row, output).
        auto add_game = [&](const LeafPath& path, size_t k, Game game, size_t part, auto&& factor) {
          terms.begin_leaf(path, k, game, part, places);
          const size_t n_slots = path.players.size(), n_terms = places.size();
          const bool tabulated = n_slots <= kTabulated;
          pass.assign(n_slots, 1);
          if (tabulated) {
            where.assign(size_t(1) << n_slots, -1);
            table_terms.clear();
            std::fill_n(masks.begin(), n, uint16_t((1u << n_slots) - 1));
            for (const auto& step : path.steps) {
              const uint8_t* left = decisions.left.data() + step.node * n;
              const uint16_t keep = uint16_t(~(1u << step.slot));
              for (int64_t i = 0; i < n; ++i) masks[i] &= left[i] == step.left ? uint16_t(0xffff) : keep;
            }
          } else {
            own.resize(n_terms);
          }
          for (int64_t i = 0; i < n; ++i) {
            const double* found;
            if (tabulated) {
              int32_t& at = where[masks[i]];
              if (at < 0) {
                at = int32_t(table_terms.size());
                table_terms.resize(table_terms.size() + n_terms);
                for (size_t slot = 0; slot < n_slots; ++slot) pass[slot] = masks[i] >> slot & 1;
                terms.fill(path, pass.data(), table_terms.data() + at);
              }
              found = table_terms.data() + at;
            } else {
              std::fill(pass.begin(), pass.end(), 1);
              for (const auto& step : path.steps) pass[step.slot] &= decisions.passes(step, i);
              terms.fill(path, pass.data(), own.data());
              found = own.data();
            }
            double* to = out + (begin + i) * row_size + values.first * width;
            for (int output = 0; output < values.n; ++output, to += width) {
              const double value = factor(i, output);
              for (size_t t = 0; t < n_terms; ++t) to[places[t]] += value * found[t];
            }
          }
        };
        for (size_t k = 0; k < paths_[tree].size(); ++k) {
          const LeafPath& path = paths_[tree][k];
          add_game(path, k, Game::kValue, 0, [&](int64_t, int output) { return values.of(path.leaf, output); });
          if (slope_paths_.empty()) continue;
          for (size_t part = 0; part < slope_paths_[tree][k].size(); ++part) {
            const SlopePath& player = slope_paths_[tree][k][part];
            add_game(player.path, k, Game::kSlope, part,
                     [&](int64_t i, int) { return slope_sum(player, scorer_.inputs(), columns, n, i); });
            if constexpr (Terms::kBackground) add_game(player.path, k, Game::kBackgroundSlope, part, [](int64_t, int) { return 1.0; });
          }
        }
      }
    }
  });
}

void Explainer::add(const Table& table, int64_t first, int64_t last, int n_threads, double* out) const {
  add_terms(table, first, last, n_threads, PathDependentTerms(n_players_), out);
}

void Explainer::add_interventional(const Table& table, const Table& background, int64_t first, int64_t last, int n_threads,
                                   double* out) const {
  add_terms(table, first, last, n_threads, InterventionalTerms(n_players_, background, paths_, slope_paths_), out);
}

void Explainer::add_interactions(const Table& table, int64_t first, int64_t last, int n_threads, double* out) const {
  add_terms(table, first, last, n_threads, InteractionTerms(n_players_), out);
}

}  // namespace sapwood
