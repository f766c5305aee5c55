// Node: one operator of the file as the rules see it: its attributes, what is known about its
// operands, and where its results go. Operands and results are tensors of the graph being built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/quoted.h"
#include "graph/graph.h"
#include "graph/onnx/values.h"
#include "graph/onnx/wire.h"

namespace sharewell::graph::onnx {

using core::Quoted;

// Where a value comes from; a result comes from all that its operands come from.
enum Origin : std::uint8_t {
  kFromConstants = 0,  // the same at every step
  kFromWeights = 1,
  kFromData = 2,
};

// What is known about a tensor beyond the IR while a file is read.
struct Fact {
  std::optional<Numbers> numbers;
  std::uint8_t origin = kFromConstants;  // of Origin, or-ed together
  bool initializer = false;
  bool frozen = false;         // an initializer that the file says is not trained
  std::int32_t producer = -1;  // index into ops
};

// All values met so far; facts[i] is about tensors[i].
struct Values {
  std::vector<Tensor> tensors;
  std::vector<Fact> facts;
};
inline std::size_t Index(TensorId id) { return static_cast<std::size_t>(id); }  // into both

class Node {
 public:
  // Keeps both references: they must outlive the node.
  Node(const wire::Node& wire, Values& values) : wire_(wire), values_(values) {}

  std::string_view type() const { return wire_.type; }
  std::string_view domain() const { return wire_.domain; }
  std::string_view name() const { return wire_.name; }
  std::vector<TensorId> inputs, outputs;  // kAbsent where an optional one is left out

  // Attributes; `otherwise` where the file does not give one.
  bool Has(std::string_view name) const;
  std::int64_t Int(std::string_view name, std::int64_t otherwise) const;
  double Real(std::string_view name, double otherwise) const;
  std::string_view Text(std::string_view name, std::string_view otherwise = {}) const;
  std::optional<Dims> Ints(std::string_view name) const;
  std::optional<wire::AttributeValue> Get(std::string_view name) const;

  // Operands. A null Shape: absent, or not known.
  bool HasInput(std::size_t i) const { return i < inputs.size() && inputs[i] != kAbsent; }
  const Dims* Shape(std::size_t i) const;
  const Numbers* Known(std::size_t i) const;
  DType Type(std::size_t i) const;
  const Fact* FactOf(std::size_t i) const;
  std::optional<Dims> KnownInts(std::size_t i) const;
  // From input `i` where the newer opsets have it, else from the attribute.
  std::optional<Dims> IntsAt(std::size_t i, std::string_view attribute) const;

  // Results. A shape beyond the IR's limits stays unknown.
  void Set(std::size_t output, Dims dims) { Set(output, std::move(dims), Type(0)); }
  void Set(std::size_t output, Dims dims, DType type);
  void SetType(std::size_t output, DType type);
  const Dims* Result(std::size_t output) const;
  void Know(std::size_t output, Numbers numbers);
  bool HasOutput(std::size_t i) const { return i < outputs.size() && outputs[i] != kAbsent; }

  // The operands contradict one another; the first reason stays.
  void Clash(std::string why);
  const std::string& clash() const { return clash_; }

 private:
  const wire::Node& wire_;
  Values& values_;
  std::string clash_;
};

// `axis` counted from the front; none when it is out of range.
std::optional<std::size_t> FromFront(std::int64_t axis, std::size_t rank);

std::string TextOf(const Dims& dims);  // "2x3x224x224"; "scalar" without dims

}  // namespace sharewell::graph::onnx
