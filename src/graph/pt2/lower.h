// Lowers the nodes of an exported program to the graph's operators.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "graph/pt2/aten.h"
#include "graph/pt2/node.h"
#include "graph/pt2/sizes.h"
#include "json/value.h"

namespace sharewell::graph::pt2 {

class Lowering {
 public:
  // The names of one (sub)graph: what they say of a tensor, and which tensor it became.
  struct Scope {
    std::unordered_map<std::string_view, json::Value> metas;
    std::unordered_map<std::string_view, TensorId> ids;
  };

  Lowering(Graph& graph, Sizes& sizes, std::string file)
      : graph_(graph), sizes_(sizes), file_(std::move(file)) {}

  static Scope ScopeOf(json::Value graph);

  // Makes the tensor of that name. An error: a size no tensor has.
  core::Result<TensorId> Make(Scope& scope, std::string_view name, Role role,
                              std::string_view shown_name = {});
  // The tensor of that name; one that nothing made is taken for a constant.
  core::Result<TensorId> Find(Scope& scope, std::string_view name);

  // Appends the operators of all nodes of a graph, which is the scope's own.
  core::Result<void> All(Scope& scope, json::Value graph, int depth = 0);

 private:
  // One node while it is lowered.
  struct At {
    const Node& node;
    Aten what;
    Op op;
  };

  // What one graph of a higher-order node became, taken out of the graph again.
  struct Branch {
    std::vector<Op> ops;
    std::vector<Tensor> tensors;
    std::vector<bool> in_order;
    std::vector<TensorId> weight_of;
    std::vector<TensorId> outputs;
    double macs = -1;
  };

  core::Result<void> One(Scope& scope, const Node& node, int depth);
  void Apply(At& at);
  void Convolve(At& at);
  void Cell(At& at);
  void Product(At& at, std::optional<double> macs, std::string_view needs);
  core::Result<void> Sequence(Scope& scope, At& at);
  core::Result<void> Subgraphs(Scope& scope, const Node& node,
                               const std::vector<json::Value>& graphs, int depth);
  core::Result<std::vector<TensorId>> Inline(const std::vector<TensorId>& operands,
                                             json::Value graph, int depth);
  Branch TakeBack(std::size_t ops, std::size_t tensors);

  core::Result<std::vector<TensorId>> FindAll(Scope& scope, const TensorNames& names);
  core::Result<std::vector<TensorId>> MakeAll(Scope& scope, const TensorNames& names);
  const std::optional<Dims>& DimsOf(const std::vector<TensorId>& ids, std::size_t i) const;
  core::Result<void> Push(Op op);

  Graph& graph_;
  Sizes& sizes_;
  std::string file_;
  std::vector<bool> in_order_;       // by TensorId: its elements lie in row-major order
  std::vector<TensorId> weight_of_;  // by TensorId: the weight that it is a view of, or kAbsent
};

}  // namespace sharewell::graph::pt2
