// One node of an exported program's JSON, asked by argument name. Whatever is missing or of another
// type than asked for is absent: the caller decides whether it can do without.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace sharewell::graph::pt2 {

// A tensor's name, or empty where an optional one is not given.
using TensorNames = std::vector<std::string_view>;

// Appends the tensors of one argument ({"as_tensor": {"name": ...}}, lists, optional ones).
void AppendTensors(json::Value argument, TensorNames& into);

class Node {
 public:
  explicit Node(json::Value node) : node_(node) {}

  std::string_view target() const { return node_["target"].Text().value_or(""); }
  // The module it stands in ("layer1.0.conv1"), else its own name; may be empty.
  std::string_view name() const;

  TensorNames Inputs() const;
  TensorNames Outputs() const;
  TensorNames Tensors(std::string_view argument) const;
  std::optional<std::int64_t> Integer(std::string_view argument) const;
  std::optional<bool> Bool(std::string_view argument) const;
  std::optional<double> Number(std::string_view argument) const;
  std::string_view Words(std::string_view argument) const;
  // The product of a list's numbers; a single number is repeated `times` times.
  std::optional<double> Product(std::string_view argument, int times) const;

  // The graphs among its arguments (of higher-order operators), and the tensors behind the last.
  std::vector<json::Value> Graphs() const;
  TensorNames Operands() const;

 private:
  json::Value Find(std::string_view argument) const;  // null: it is not given

  json::Value node_;
};

}  // namespace sharewell::graph::pt2
