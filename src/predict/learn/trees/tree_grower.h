// Grows one regression tree for squared error, as XGBoost's exact method does (Chen and Guestrin,
// KDD 2016): a node's score is G^2 / (H + lambda), with G the weighted sum of its residuals and H
// the sum of their weights; the split that raises the score most is taken, nodes breadth first.
//
// Missing values go to the side that raises the score more; where a node saw none in training, the
// heavier side. Ties: the lower feature, then the lower threshold. Cost of a level: rows x columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "predict/learn/trees/sorted_columns.h"
#include "predict/learn/trees/tree.h"

namespace sharewell::predict::learn {

struct TreeOptions {
  int depth = 6;                  // splits on the way to a leaf; 0: no limit
  double lambda = 1;              // shrinks leaves that few rows speak for
  double min_child_weight = 1;    // no leaf is lighter
  double gamma = 0;               // splits that gain less are pruned, leaves first
  double subsample = 1;           // share of the rows, drawn for the tree
  double colsample = 1;           // share of the features, drawn for the tree
  double colsample_node = 1;      // share of those, drawn again for each node
  bool random_threshold = false;  // one threshold a feature, drawn (extra-trees), not searched
  friend bool operator==(const TreeOptions&, const TreeOptions&) = default;
};

// Keeps its working memory between trees; so one grower a fit. Each Grow is a pure function of its
// arguments and the columns.
class TreeGrower {
 public:
  // REQUIRES that the columns outlive the grower.
  explicit TreeGrower(const SortedColumns& columns);

  // REQUIRES one residual a row, and one weight a row; rows of weight 0 take no part. What each
  // feature's splits gained is added to `importance`, which has one place a feature.
  Tree Grow(const TreeOptions& options, std::span<const double> residuals,
            std::span<const double> weights, std::uint64_t seed, std::vector<double>& importance);

 private:
  using Entry = SortedColumns::Entry;
  struct Sums {
    double g = 0;
    double h = 0;
  };
  struct Pending {
    std::size_t node;
    std::size_t begin;  // its rows in every column of work_
    std::size_t end;
    int depth;
    Sums sums;
  };
  struct Split {
    double score = 0;      // of both sides together
    std::size_t slot = 0;  // of the feature in features_
    double threshold = 0;
    bool missing_left = false;
    Sums left;
    bool found = false;
  };

  void TakeRows(const TreeOptions& options, std::span<const double> residuals,
                std::span<const double> weights, std::uint64_t seed);
  Split Search(const TreeOptions& options, const Pending& node, std::uint64_t seed) const;
  void SearchAll(const TreeOptions& options, const Pending& node, std::size_t slot,
                 Split& best) const;
  void SearchOne(const TreeOptions& options, const Pending& node, std::size_t slot, double draw,
                 Split& best) const;
  static void Consider(const TreeOptions& options, const Pending& node, std::size_t slot,
                       double threshold, Sums left, Sums missing, Split& best);
  static void Attempt(const TreeOptions& options, const Pending& node, std::size_t slot,
                      double threshold, Sums left, bool missing_left, Split& best);
  static double Score(const TreeOptions& options, const Sums& sums) {
    return sums.h > 0 ? sums.g * sums.g / (sums.h + options.lambda) : 0;
  }
  std::size_t Known(std::span<const Entry> range, Sums& missing) const;
  std::size_t Divide(const Pending& node, const Split& split);
  std::span<const Entry> Range(const Pending& node, std::size_t slot) const {
    return std::span<const Entry>(work_).subspan(slot * taken_ + node.begin, node.end - node.begin);
  }

  const SortedColumns& columns_;
  std::vector<Sums> rows_;             // by row: weight x residual, and weight; 0 when left out
  std::vector<std::size_t> features_;  // of this tree, ascending
  std::size_t taken_ = 0;              // rows of this tree
  std::vector<Entry> work_;            // by feature of this tree: its rows, by node, then by value
  std::vector<Entry> right_;
  std::vector<unsigned char> left_;  // by row: does it go left?
};

}  // namespace sharewell::predict::learn
