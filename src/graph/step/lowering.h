// StepLowering: makes a graph of one told step. Private to step/: lower.h is the door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "graph/graph.h"
#include "graph/step/belongings.h"
#include "graph/step/classify.h"
#include "graph/step/operands.h"
#include "graph/step/told_step.h"

namespace sharewell::graph {

class StepLowering {
 public:
  explicit StepLowering(ToldStep step);

  Graph Run(std::int64_t batch);

 private:
  const ToldOperator& At(std::size_t i) const { return step_.operators[i]; }
  bool IsForward(std::size_t i) const { return At(i).pass == ToldPass::kForward; }
  void FindWeights();
  void FindInputs();
  void FindLoss();
  void FindHalfCopies();
  void PutInOrder();

  // ---- one operator (lower_operator.cc)
  Role RoleOf(const ToldTensor& tensor, bool weight_place) const;
  TensorId Add(const ToldTensor& tensor, Role role);
  Op NewOp(std::size_t i, Kind kind, ToldUse::As as) const;
  void AddAll(Op& op, std::size_t i);
  void Push(std::size_t i, Op op);
  bool TakesCasts(std::size_t i) const;
  bool IsNothing(std::size_t i) const;
  void Lower(std::size_t i);
  void LowerUnknown(std::size_t i);
  void LowerPlain(std::size_t i, Kind kind, ToldUse::As as);
  void LowerProduct(std::size_t i);
  void LowerConv(std::size_t i, ToldUse::As as, std::size_t x_at, std::size_t weight_at,
                 const ToldTensor* out);
  void LowerAttention(std::size_t i, ToldUse::As as, std::size_t first, const ToldTensor* out);
  void LowerRecurrent(std::size_t i, ToldUse::As as);
  void LowerBackward(std::size_t i);

  ToldStep step_;
  Graph graph_;
  std::vector<ToldClass> classes_;  // by told operator
  std::optional<Belongings> belongings_;
  std::vector<std::size_t> order_;  // by operator of the graph: the told one
  std::set<std::vector<std::int64_t>> trained_dims_, frozen_dims_;
  double trained_ = 0;  // numbers, as far as operands show
};

}  // namespace sharewell::graph
