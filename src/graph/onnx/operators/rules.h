// What is known of each operator: its kind, its shapes, its work, its arithmetic on known numbers.
// One table, in rules.cc; the functions lie in a file per family (pointwise, window, product,
// layout, make, fold).
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "graph/onnx/node.h"

namespace sharewell::graph::onnx {

struct Rule {
  std::string_view name;  // contrib operators that differ from their standard namesake: "ms.Name"
  Kind kind = Kind::kUnknown;
  // Sets the results' shapes and types; leaves alone what it cannot tell.
  void (*shape)(Node&) = nullptr;
  // Adds the work of the forward pass: macs, groups, kernel, steps. Called with results known.
  void (*work)(const Node&, Op&) = nullptr;
  // Computes the results' numbers where it can. Called when results' shapes are set.
  void (*fold)(Node&) = nullptr;
};

// Null: no operator of ours. Opsets do not matter: the rules read old and new forms.
const Rule* FindRule(std::string_view domain, std::string_view type);

}  // namespace sharewell::graph::onnx
