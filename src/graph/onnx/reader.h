// Reader: walks a file's nodes in an order they can run in, infers, and builds the graph. Calls of
// the file's own functions and the bodies of If, Loop and Scan are walked where they stand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "graph/onnx/inputs.h"
#include "graph/onnx/node.h"
#include "graph/onnx/wire.h"

namespace sharewell::graph::onnx {

class Reader {
 public:
  // `declared`: shapes that the file declares for inner values are a fallback; false where the
  // inputs' batch is not the one that the file was written for.
  Reader(const wire::Model& model, const BoundInputs& bound, bool declared);

  // The graph without batch and format, or a usage error that says what is wrong where. May throw
  // protozero::exception. Call once.
  core::Result<Graph> Read(const wire::Graph& graph);

  // Nodes whose operands contradict one another, met while reading.
  std::size_t clashes() const { return clashes_; }
  // What is known of each tensor; facts()[i] is about the graph's tensors[i].
  const std::vector<Fact>& facts() const { return values_.facts; }

 private:
  // Names visible at one place: a graph, a body inside it, or a function's.
  struct Scope {
    std::unordered_map<std::string_view, TensorId> names;
    const Scope* outer = nullptr;
    const std::vector<std::string_view>* value_infos = nullptr;
    std::optional<std::unordered_map<std::string_view, std::string_view>> declared;  // by name
    int depth = 0;
  };

  bool ReadInitializers(const wire::Graph& graph, Scope& scope);
  bool Walk(const std::vector<wire::Node>& nodes, Scope& scope);
  bool Visit(const wire::Node& node, Scope& scope);
  bool VisitOperator(const wire::Node& wire, Scope& scope);
  bool Call(const wire::Function& function, const wire::Node& node, Scope& scope);
  bool VisitIf(const wire::Node& wire, Scope& scope);
  bool VisitLoop(const wire::Node& wire, Scope& scope);
  bool VisitScan(const wire::Node& wire, Scope& scope);
  bool Body(const wire::Graph& body, const std::vector<TensorId>& arguments, Scope& scope,
            std::vector<TensorId>& results);
  bool Stack(const wire::Node& wire, std::string_view name, TensorId inner, std::size_t axis,
             std::int64_t times, Scope& scope);
  void Repeat(std::size_t first, std::int64_t times);
  bool NotCosted(const wire::Node& wire, Scope& scope, std::string why);

  TensorId Add(std::string_view name);
  bool Define(std::string_view name, TensorId id, Scope& scope);
  std::optional<TensorId> Find(std::string_view name, const Scope& scope) const;
  bool Operands(const wire::Node& wire, Scope& scope, std::vector<TensorId>& ids);
  bool Results(const wire::Node& wire, Scope& scope, std::vector<TensorId>& ids);
  void UseDeclared(const Node& node, Scope& scope);
  bool Fail(std::string message);
  // So much more is walked, or kept of what was; false: it is too much. Whatever a short file can
  // make the reader do again and again is counted, before it is done.
  bool Count(std::size_t more);
  static std::string Called(const wire::Node& node);  // for messages
  void IsInitializer(TensorId id);

  static constexpr std::size_t kLongestName = 256;
  // More count as further nodes: operands, attributes and folded numbers of one, bytes of its names
  // and attributes.
  static constexpr std::size_t kOperandsOfANode = 16, kBytesOfANode = 4096;

  const BoundInputs& bound_;
  bool declared_;
  std::unordered_map<std::string, const wire::Function*> functions_;  // by domain, name, overload
  std::unordered_set<std::string_view> frozen_;  // weights that are not trained
  Values values_;
  std::vector<Op> ops_;
  std::size_t visited_ = 0;  // nodes, in functions once a call, and what is as long as they are
  std::size_t clashes_ = 0;
  bool pytorch_;
  std::optional<core::Error> error_;
};

}  // namespace sharewell::graph::onnx
