#include "predict/learn/trees/tree_grower.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/numbers/random.h"
#include "predict/learn/sample.h"

namespace sharewell::predict::learn {
namespace {

// A gain below this share of the squares to explain is rounding, not a pattern.
constexpr double kNoise = 1e-12;
// A side this light holds only what subtraction left over.
constexpr double kNothing = 1e-12;
// Every known value is below it, a missing one is not.
constexpr double kAboveAll = std::numeric_limits<double>::max();

// What a draw is for.
constexpr std::uint64_t kForRows = 1;
constexpr std::uint64_t kForFeatures = 2;
constexpr std::uint64_t kForNode = 3;
constexpr std::uint64_t kForThreshold = 4;

// The middle, or where rounding would put it on `low`, `high`: low < threshold <= high.
double Between(double low, double high) {
  const double middle = low / 2 + high / 2;
  return middle > low && middle <= high ? middle : high;
}

// Nodes that can no longer be reached go; the others keep their order.
Tree Compact(const Tree& tree) {
  Tree out;
  std::vector<std::size_t> from{0};  // by new node: the old one
  for (std::size_t i = 0; i < from.size(); ++i) {
    out.nodes[i] = tree.nodes[from[i]];
    if (out.nodes[i].leaf()) continue;
    const auto child = static_cast<std::size_t>(out.nodes[i].child);
    out.nodes[i].child = static_cast<std::int32_t>(from.size());
    from.push_back(child);
    from.push_back(child + 1);
    out.nodes.resize(from.size());
  }
  return out;
}

}  // namespace

TreeGrower::TreeGrower(const SortedColumns& columns)
    : columns_(columns), rows_(columns.rows()), left_(columns.rows()) {
  // A node has 16 bits for its feature.
  static_assert(kMostFeatures <= std::numeric_limits<std::int16_t>::max());
  SHAREWELL_CHECK(columns.columns() <= kMostFeatures);
}

void TreeGrower::TakeRows(const TreeOptions& options, std::span<const double> residuals,
                          std::span<const double> weights, std::uint64_t seed) {
  const std::size_t n = columns_.rows();
  SHAREWELL_CHECK(residuals.size() == n && weights.size() == n);
  taken_ = 0;
  std::fill(rows_.begin(), rows_.end(), Sums{});
  const auto take = [&](std::size_t i) {
    if (weights[i] <= 0) return;
    rows_[i] = {weights[i] * residuals[i], weights[i]};
    ++taken_;
  };
  if (options.subsample < 1) {
    const auto sample = Sample(n, ShareOf(n, options.subsample), core::HashOf({seed, kForRows}));
    for (std::size_t i : sample) take(i);
  } else {
    for (std::size_t i = 0; i < n; ++i) take(i);
  }

  features_.resize(columns_.columns());
  std::iota(features_.begin(), features_.end(), std::size_t{0});
  if (options.colsample < 1) {
    features_ = Sample(features_.size(), ShareOf(features_.size(), options.colsample),
                       core::HashOf({seed, kForFeatures}));
  }
  work_.resize(features_.size() * taken_);
  right_.resize(taken_);
  Entry* out = work_.data();
  for (std::size_t f : features_) {
    const auto column = columns_.Column(f);
    if (taken_ == n) {
      out = std::copy(column.begin(), column.end(), out);
    } else {
      out = std::copy_if(column.begin(), column.end(), out,
                         [&](const Entry& e) { return rows_[e.row].h > 0; });
    }
  }
}

// Takes the split where it raises the score. Most do not, and are refused without a division.
inline void TreeGrower::Attempt(const TreeOptions& options, const Pending& node, std::size_t slot,
                                double threshold, Sums left, bool missing_left, Split& best) {
  const Sums right{node.sums.g - left.g, node.sums.h - left.h};
  const double least = std::max(options.min_child_weight, kNothing);
  if (left.h < least || right.h < least) return;
  const double l = left.h + options.lambda;
  const double r = right.h + options.lambda;
  const double top = left.g * left.g * r + right.g * right.g * l;
  if (top <= best.score * (l * r)) return;
  // Compared as a quotient too: an equal split elsewhere has the same quotient, and must not win.
  const double score = top / (l * r);
  if (score > best.score) best = {score, slot, threshold, missing_left, left, true};
}

// `left` are the known values below the threshold; both sides are tried for the missing ones.
inline void TreeGrower::Consider(const TreeOptions& options, const Pending& node, std::size_t slot,
                                 double threshold, Sums left, Sums missing, Split& best) {
  if (missing.h > 0) {
    Attempt(options, node, slot, threshold, {left.g + missing.g, left.h + missing.h}, true, best);
    Attempt(options, node, slot, threshold, left, false, best);
  } else {
    Attempt(options, node, slot, threshold, left, left.h > node.sums.h - left.h, best);
  }
}

// How many of the range's values are known, and the sums of the others, which come last.
std::size_t TreeGrower::Known(std::span<const Entry> range, Sums& missing) const {
  std::size_t known = range.size();
  while (known > 0 && range[known - 1].rank == SortedColumns::kMissing) {
    --known;
    missing.g += rows_[range[known].row].g;
    missing.h += rows_[range[known].row].h;
  }
  return known;
}

void TreeGrower::SearchAll(const TreeOptions& options, const Pending& node, std::size_t slot,
                           Split& best) const {
  const auto range = Range(node, slot);
  const auto values = columns_.Values(features_[slot]);
  Sums missing;
  const std::size_t known = Known(range, missing);
  if (known == 0) return;
  Sums left;
  for (std::size_t i = 0; i + 1 < known; ++i) {
    const Entry entry = range[i];
    left.g += rows_[entry.row].g;
    left.h += rows_[entry.row].h;
    const std::uint32_t next = range[i + 1].rank;
    if (next == entry.rank) continue;
    Consider(options, node, slot, Between(values[entry.rank], values[next]), left, missing, best);
  }
  if (known == range.size()) return;
  // Known against missing.
  left.g += rows_[range[known - 1].row].g;
  left.h += rows_[range[known - 1].row].h;
  Attempt(options, node, slot, kAboveAll, left, false, best);
}

void TreeGrower::SearchOne(const TreeOptions& options, const Pending& node, std::size_t slot,
                           double draw, Split& best) const {
  const auto range = Range(node, slot);
  const auto values = columns_.Values(features_[slot]);
  Sums missing;
  const std::size_t known = Known(range, missing);
  if (known == 0 || (known == range.size() && range[0].rank == range[known - 1].rank)) return;
  const double low = values[range[0].rank];
  const double high = values[range[known - 1].rank];
  double threshold = low + (high - low) * draw;
  if (!(threshold > low && threshold <= high)) threshold = high > low ? high : kAboveAll;
  Sums left;
  for (std::size_t i = 0; i < known && values[range[i].rank] < threshold; ++i) {
    left.g += rows_[range[i].row].g;
    left.h += rows_[range[i].row].h;
  }
  Consider(options, node, slot, threshold, left, missing, best);
}

TreeGrower::Split TreeGrower::Search(const TreeOptions& options, const Pending& node,
                                     std::uint64_t seed) const {
  Split best;
  best.score = Score(options, node.sums);
  const auto search = [&](std::size_t slot) {
    if (options.random_threshold) {
      const auto draw = core::HashOf({seed, kForThreshold, node.node, features_[slot]});
      SearchOne(options, node, slot, core::Uniform(draw), best);
    } else {
      SearchAll(options, node, slot, best);
    }
  };
  if (options.colsample_node < 1) {
    const auto slots = Sample(features_.size(), ShareOf(features_.size(), options.colsample_node),
                              core::HashOf({seed, kForNode, node.node}));
    for (std::size_t slot : slots) search(slot);
    // As in scikit-learn: where none of those drawn divides the node, the others may.
    if (best.found) return best;
  }
  for (std::size_t slot = 0; slot < features_.size(); ++slot) search(slot);
  return best;
}

// Puts the rows that go left before the others, in every column; how many those are.
std::size_t TreeGrower::Divide(const Pending& node, const Split& split) {
  const auto values = columns_.Values(features_[split.slot]);
  std::size_t count = 0;
  for (const Entry& entry : Range(node, split.slot)) {
    const bool left = entry.rank == SortedColumns::kMissing ? split.missing_left
                                                            : values[entry.rank] < split.threshold;
    left_[entry.row] = left ? 1 : 0;
    count += left ? 1 : 0;
  }
  for (std::size_t slot = 0; slot < features_.size(); ++slot) {
    Entry* const begin = work_.data() + slot * taken_ + node.begin;
    Entry* const end = work_.data() + slot * taken_ + node.end;
    Entry* left = begin;
    Entry* right = right_.data();
    // Both are written and one is kept: no branch to mispredict.
    for (const Entry* entry = begin; entry != end; ++entry) {
      const Entry copy = *entry;
      *left = copy;
      *right = copy;
      left += left_[copy.row];
      right += 1 - left_[copy.row];
    }
    std::copy(right_.data(), right, left);
  }
  return count;
}

Tree TreeGrower::Grow(const TreeOptions& options, std::span<const double> residuals,
                      std::span<const double> weights, std::uint64_t seed,
                      std::vector<double>& importance) {
  TakeRows(options, residuals, weights, seed);
  Sums all;
  double squares = 0;
  for (const Sums& row : rows_) {
    all.g += row.g;
    all.h += row.h;
    if (row.h > 0) squares += row.g * row.g / row.h;
  }
  const auto answer = [&](const Sums& s) { return s.h > 0 ? s.g / (s.h + options.lambda) : 0; };

  Tree tree;
  tree.nodes[0].value = answer(all);
  std::vector<double> gains{0};  // by node
  std::vector<Pending> queue{{0, 0, taken_, 0, all}};
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Pending node = queue[next];
    if (node.end - node.begin < 2 || node.sums.h < 2 * options.min_child_weight) continue;
    const Split split = Search(options, node, seed);
    const double gain = split.score - Score(options, node.sums);
    if (!split.found || gain <= kNoise * squares) continue;

    const std::size_t child = tree.nodes.size();
    tree.nodes.resize(child + 2);
    gains.resize(child + 2);
    gains[node.node] = gain;
    tree.nodes[node.node] = {split.threshold, static_cast<std::int32_t>(child),
                             static_cast<std::int16_t>(features_[split.slot]), split.missing_left};
    const Sums right{node.sums.g - split.left.g, node.sums.h - split.left.h};
    tree.nodes[child].value = answer(split.left);
    tree.nodes[child + 1].value = answer(right);
    if (options.depth > 0 && node.depth + 1 >= options.depth) continue;
    const std::size_t middle = node.begin + Divide(node, split);
    queue.push_back({child, node.begin, middle, node.depth + 1, split.left});
    queue.push_back({child + 1, middle, node.end, node.depth + 1, right});
  }

  if (options.gamma > 0) {
    // The answer of a pruned split: its children's, put together again.
    std::vector<Sums> sums(tree.nodes.size());
    for (const Pending& node : queue) sums[node.node] = node.sums;
    for (std::size_t i = tree.nodes.size(); i-- > 0;) {
      Tree::Node& node = tree.nodes[i];
      if (node.leaf() || gains[i] >= options.gamma) continue;
      const auto child = static_cast<std::size_t>(node.child);
      if (!tree.nodes[child].leaf() || !tree.nodes[child + 1].leaf()) continue;
      node = {answer(sums[i]), 0, -1, false};
    }
  }
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    if (!tree.nodes[i].leaf()) {
      importance[static_cast<std::size_t>(tree.nodes[i].feature)] += gains[i];
    }
  }
  return options.gamma > 0 ? Compact(tree) : tree;
}

}  // namespace sharewell::predict::learn
