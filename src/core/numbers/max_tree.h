// MaxTree: a fixed row of numbers that can be asked for the first one, from a place on, that is at
// least x, and for the largest few. Update and search are O(log n). First fit over thousands of
// GPUs stands on it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <vector>

namespace sharewell::core {

class MaxTree {
 public:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  MaxTree() = default;
  explicit MaxTree(std::size_t n, double value = -std::numeric_limits<double>::infinity())
      : size_(n), leaves_(std::bit_ceil(std::max<std::size_t>(n, 1))), tree_(2 * leaves_, kLow) {
    for (std::size_t i = 0; i < n; ++i) tree_[leaves_ + i] = value;
    for (std::size_t i = leaves_ - 1; i > 0; --i)
      tree_[i] = std::max(tree_[2 * i], tree_[2 * i + 1]);
  }

  std::size_t size() const { return size_; }
  double operator[](std::size_t i) const { return tree_[leaves_ + i]; }
  double max() const { return tree_.empty() ? kLow : tree_[1]; }

  void Set(std::size_t i, double value) {
    std::size_t at = leaves_ + i;
    tree_[at] = value;
    for (at /= 2; at > 0; at /= 2) {
      const double m = std::max(tree_[2 * at], tree_[2 * at + 1]);
      if (tree_[at] == m) break;
      tree_[at] = m;
    }
  }

  // The lowest i >= from with value >= x, or kNone.
  std::size_t First(double x, std::size_t from = 0) const {
    if (from >= size_ || !(max() >= x)) return kNone;
    std::size_t at = leaves_ + from;
    // Climb until a right-hand subtree (or this leaf) holds one, then walk down its left edge.
    while (tree_[at] < x) {
      while (at & 1) {
        at /= 2;
        if (at == 0) return kNone;
      }
      if (at == 0) return kNone;
      ++at;
    }
    while (at < leaves_) at = tree_[2 * at] >= x ? 2 * at : 2 * at + 1;
    return at - leaves_;
  }

  // At most `count` of those above the lowest, largest first, ties by place. O(count log n).
  std::vector<std::size_t> Largest(std::size_t count) const {
    std::vector<std::size_t> out;
    if (max() == kLow) return out;
    // Subtrees that hold the next ones: of equals the leftmost is on top.
    std::vector<Subtree> rest{{tree_[1], 0, 1}};
    while (out.size() < count && !rest.empty()) {
      std::pop_heap(rest.begin(), rest.end());
      auto [value, first, at] = rest.back();
      rest.pop_back();
      std::size_t width = leaves_ / std::bit_floor(at);
      while (at < leaves_) {
        width /= 2;
        const bool left = tree_[2 * at] == value;
        const std::size_t other = 2 * at + (left ? 1 : 0);
        if (tree_[other] != kLow) {
          rest.push_back({tree_[other], first + (left ? width : 0), other});
          std::push_heap(rest.begin(), rest.end());
        }
        at = 2 * at + (left ? 0 : 1);
        if (!left) first += width;
      }
      out.push_back(first);
    }
    return out;
  }

 private:
  struct Subtree {
    double max = 0;
    std::size_t first = 0;  // its leftmost leaf
    std::size_t at = 0;
    bool operator<(const Subtree& other) const {
      return max != other.max ? max < other.max : first > other.first;
    }
  };
  static constexpr double kLow = -std::numeric_limits<double>::infinity();
  std::size_t size_ = 0;
  std::size_t leaves_ = 0;
  std::vector<double> tree_;
};

}  // namespace sharewell::core
