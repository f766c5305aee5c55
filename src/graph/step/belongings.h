// Belongings: which told operators are counted with others, as other graphs have them derived:
// copies between precisions with the product, norm or loss that wants them, views of a product's
// operands with it, sums of a bias's gradient likewise. Private to step/.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <vector>

#include "graph/graph.h"
#include "graph/step/classify.h"
#include "graph/step/operands.h"
#include "graph/step/pools.h"
#include "graph/step/told_step.h"

namespace sharewell::graph {

class Belongings {
 public:
  // Both must outlive it.
  Belongings(const ToldStep& step, const std::vector<ToldClass>& classes);

  // Calls of an operator that no other has taken.
  double Left(std::size_t op) const { return left_[op]; }
  // A product takes the copies between precisions of its operands, a call on average.
  void AddCasts(ToldUse& use, std::initializer_list<const ToldTensor*> operands, bool forward);
  // Gradients that are computed for each forward product of these sizes; whether there is one.
  double Gradients(const ProductKey& key) const;
  bool HasForward(const ProductKey& key) const { return forward_products_.contains(key); }

 private:
  void Fill(std::size_t i);
  void Take(std::size_t i);

  const ToldStep& step_;
  const std::vector<ToldClass>& classes_;
  std::vector<double> left_;                         // by operator
  std::array<Pool, 2> product_casts_, other_casts_;  // backward, forward
  Pool views_, sums_;
  std::map<ProductKey, double> forward_products_, backward_products_;  // calls
};

}  // namespace sharewell::graph
