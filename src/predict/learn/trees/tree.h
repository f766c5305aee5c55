// One regression tree: a row goes from the root to a leaf, whose value is the answer.
//
// A node's two children lie side by side, and the nodes lie in the order in which a breadth-first
// walk meets them; so the k-th split (from 0) has its children at 2k + 1 and 2k + 2.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sharewell::predict::learn {

struct Tree {
  struct Node {
    double value = 0;           // a leaf's answer; a split's threshold
    std::int32_t child = 0;     // of a split: the left one, the right one follows
    std::int16_t feature = -1;  // -1: a leaf
    bool missing_left = false;  // where a row goes whose feature is NaN
    bool leaf() const { return feature < 0; }
    friend bool operator==(const Node&, const Node&) = default;
  };

  std::vector<Node> nodes{Node{}};

  // Below the threshold is left. REQUIRES a value for every feature the tree asks for.
  double Predict(std::span<const double> row) const {
    const Node* node = nodes.data();
    while (!node->leaf()) {
      const double x = row[static_cast<std::size_t>(node->feature)];
      const bool left = x < node->value || (node->missing_left && std::isnan(x));
      node = nodes.data() + node->child + (left ? 0 : 1);
    }
    return node->value;
  }

  // Every answer times `factor`.
  void Scale(double factor) {
    for (Node& node : nodes) {
      if (node.leaf()) node.value *= factor;
    }
  }

  friend bool operator==(const Tree&, const Tree&) = default;
};

}  // namespace sharewell::predict::learn
